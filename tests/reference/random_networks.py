"""Random small open networks, and how far queueing is from their exact Markov chains or long simulations.

    python tests/reference/random_networks.py judge [FIRST END]   prints the shares near enough by family, and the worst
    python tests/reference/random_networks.py make FIRST END       adds networks, some 5 s each, those from HARD on 2 s

One to three stations in a row, with a way back or two ways; one or two servers; service and times between arrivals that
are exponential, Erlang or hyperexponential, batches, on-off spans. Loads are from 0.3 to 0.85.
"""

import csv
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.chain_against_simulation import network_of

from npexplore.errors import NpexploreError
from npexplore.networks.simulation import simulate_network
from npexplore.networks.solve import solve_network

FILE = Path(__file__).with_suffix(".csv")
MOST_STATES, MOST_ERROR = 30_000, 1e-3
NEAR, FAR, HARD = 0.10, 0.30, 10_000
HARSH = ["poisson", "renewal", "renewal", "batch", "on_off", "markovian", "periodic"]
KINDS = ["exponential", "erlang", "hyperexponential"]


def time_of(r, mean, kinds):
    """Return a random time of a mean."""
    kind = r.choice(kinds)
    if kind == "constant":
        return kind, {"distribution": "deterministic", "mean": mean}
    if kind == "erlang":
        return kind, {"distribution": kind, "mean": mean, "stages": r.choice([2, 3, 4])}
    if kind == "hyperexponential":
        p = r.choice([0.1, 0.3, 0.7, 0.9])
        short = mean * r.uniform(0.2, 0.8)
        return kind, {"distribution": kind, "probability": p, "means": [short, (mean - p * short) / (1 - p)]}
    return kind, {"distribution": "exponential", "mean": mean}


def arrivals_of(r, rate=1.0, kinds=("poisson", "renewal", "renewal", "batch", "on_off")):
    """Return a family and arrivals."""
    kind = r.choice(kinds)
    if kind == "markovian":
        fast, turn = rate * r.uniform(1.2, 1.9), rate * r.choice([0.1, 0.5])
        slow = 2 * rate - fast
        quiet = [[-fast - turn, turn], [turn, -slow - turn]]
        return kind, {"process": kind, "quiet": quiet, "arrive": [[fast, 0.0], [0.0, slow]]}
    if kind == "renewal":
        family, interval = time_of(r, 1 / rate, ["erlang", "hyperexponential"])
        return f"{family} arrivals", {"process": kind, "interval": interval}
    if kind == "batch":
        return kind, {"process": kind, "rate": rate, "size": r.choice([2, 3])}
    if kind == "on_off":
        on, off = r.choice([2.0, 5.0]) / rate, r.choice([1.0, 4.0]) / rate
        return kind, {"process": kind, "rate": rate, "on": on, "off": off}
    return kind, {"process": kind, "rate": rate}


def random_network(seed):
    """Return (families, description) of a seed."""
    r = random.Random(seed)
    count = r.choice([1, 1, 2, 2, 3])
    family, arrivals = arrivals_of(r)
    families, names = {family, f"{count} stations"}, ["a", "b", "c"][:count]
    stations, service, route = {}, {}, {"in": {"a": 1.0}}
    way = r.choice(["row", "row", "back", "split"]) if count > 1 else "row"
    families.add(way)
    for k, name in enumerate(names):
        servers = r.choice([1, 1, 2])
        visits = {"back": 1 / 0.7 if k < 2 else 1.0, "split": 0.5 if k == 1 else 1.0}.get(way, 1.0)
        kind, time = time_of(r, r.uniform(0.3, 0.85) * servers / visits, ["exponential", "erlang", "hyperexponential"])
        families |= {f"{kind} service", f"{servers} servers"}
        stations[name], service[name] = {"servers": servers}, time
        route[name] = {names[k + 1]: 1.0} if k + 1 < count else {"out": 1.0}
    if way == "back":
        onward = route["b"]
        route["b"] = {"a": 0.3, **dict.fromkeys(onward, 0.7)}
    if way == "split":
        route["a"] = {"b": 0.5, ("c" if count > 2 else "out"): 0.5}
    one = {"arrivals": arrivals, "service": service, "route": route}
    return families, {"station": stations, "class": {"c": one}}


def harsh_network(seed):
    """Return (families, description) of up to four stations that up to three classes pass, each in its own way."""
    r = random.Random(seed)
    names = ["a", "b", "c", "d"][: r.choice([2, 2, 3, 3, 4])]
    families = {"harsh", f"{len(names)} stations"}
    stations = {name: {"servers": r.choice([1, 1, 1, 2, 4, 8])} for name in names}
    families |= {f"{one['servers']} servers" for one in stations.values()}
    regular = r.random() < 0.4  # services as those of links and engines
    classes, visits = {}, {}
    for c in ["x", "y", "z"][: r.choice([1, 1, 2, 2, 3])]:
        way = names if r.random() < 0.6 else [name for name in names if r.random() < 0.6] or [r.choice(names)]
        way = r.sample(way, len(way)) if r.random() < 0.25 else way
        rate, route = r.choice([0.2, 1.0, 1.0, 2.0]), {"in": {way[0]: 1.0}}
        route |= {name: {after: 1.0} for name, after in zip(way, [*way[1:], "out"], strict=True)}
        visits[c] = dict.fromkeys(way, rate)
        form = r.choice(["row", "row", "split", "back"]) if len(way) > 2 else r.choice(["row", "row", "back"])
        if form == "split":  # the second is passed by
            route[way[0]] = {way[1]: 0.5, way[2]: 0.5}
            visits[c][way[1]] *= 0.5
        elif form == "back":
            last, to = way[-1], r.choice(way)
            route[last] = {"out": 0.7, to: 0.3}
            visits[c] |= dict.fromkeys(way[way.index(to) :], rate / 0.7)
        families.add(form)
        family, arrivals = arrivals_of(r, rate, HARSH)
        families.add(family)
        classes[c] = {"arrivals": arrivals, "service": {}, "route": route}
    families.add(f"{len(classes)} classes")
    for name, station in stations.items():
        there = [c for c in classes if name in visits[c]]
        alike, load, kinds = r.random() < 0.4, r.uniform(0.1, 0.9), None
        means = dict.fromkeys(there, 1.0) if alike else {c: r.choice([0.3, 1.0, 1.0, 3.0]) for c in there}
        scale = load * station["servers"] / sum(visits[c][name] * mean for c, mean in means.items()) if there else 0.0
        for c, mean in means.items():
            if kinds is None or not alike:
                kinds = ["constant"] if regular or r.random() < 0.3 else [r.choice(KINDS)]
                again = r.random()
            kind, classes[c]["service"][name] = time_of(random.Random(again), scale * mean, kinds)
            families.add(f"{kind} service")
        families |= {"services of several means"} if len(set(means.values())) > 1 else set()
    families.add("constant alone" if regular else "services mixed")
    used = {name for one in classes.values() for name in one["service"]}
    return families, {"station": {name: one for name, one in stations.items() if name in used}, "class": classes}


def described(seed):
    """Return (families, description) of a seed."""
    return harsh_network(seed) if seed >= HARD else random_network(seed)


def truth(seed):
    """Return the mean responses of the classes of a seed's network; None where they are not to be had."""
    network = network_of(described(seed)[1])
    if seed < HARD:
        (chain,) = solve_network(network, ["ctmc"], most_states=MOST_STATES)
        return None if chain.refused or chain.error >= MOST_ERROR else [chain.classes["c"].mean_response]
    customers, width = 100_000, 1.0
    while width > 0.012 and customers <= 3_000_000:
        run = simulate_network(network, range(1, 7), customers)
        if run.refused:
            return None
        means = {f"classes.{c}.mean_response": one.mean_response for c, one in run.classes.items()}
        width = max((run.ci95[name][1] - run.ci95[name][0]) / 2 / mean for name, mean in means.items())
        customers = int(customers * min(max((width / 0.01) ** 2, 1.5), 30))
    return list(means.values()) if width < 0.03 else None


def make(first, end):
    """Add the mean responses of networks."""
    known = {int(row["seed"]) for row in csv.DictReader(FILE.read_text().splitlines())}
    with FILE.open("a", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        for seed in sorted(set(range(first, end)) - known):
            try:
                means = truth(seed)
            except NpexploreError:
                continue
            if means:
                out.writerow((seed, " ".join(f"{mean:.7g}" for mean in means)))
                file.flush()


def compared(first=0, end=1 << 30):
    """Yield (seed, families, relative error of queueing, or the sentence that refuses) of the stored networks."""
    for row in csv.DictReader(FILE.read_text().splitlines()):
        seed, means = int(row["seed"]), map(float, row["mean_response_s"].split())
        if first <= seed < end:
            families, description = described(seed)
            (answer,) = solve_network(network_of(description), ["queueing"])
            found = [one.mean_response for one in answer.classes.values()]
            yield seed, families, answer.refused or max((a / b - 1 for a, b in zip(found, means, strict=True)), key=abs)


def judge(first=0, end=1 << 30):
    """Print the shares near enough."""
    rows = list(compared(first, end))
    for family in ["all", *sorted(set().union(*(families for _, families, _ in rows)))]:
        errors = [e for _, names, e in rows if (family == "all" or family in names) and not isinstance(e, str)]
        if errors:
            near, far = (sum(abs(e) <= limit for e in errors) / len(errors) for limit in (NEAR, FAR))
            print(f"{family:26} {len(errors):4}, near {near:4.0%}, within 30 % {far:4.0%}, {max(errors, key=abs):+.2f}")
    print(
        *sorted(((round(e, 2), seed) for seed, _, e in rows if not isinstance(e, str)), key=lambda x: -abs(x[0]))[:20]
    )


if __name__ == "__main__":
    command, *more = sys.argv[1:]
    {"make": make, "judge": judge}[command](*map(int, more))
