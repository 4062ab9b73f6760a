"""Random small open networks, and how far queueing is from their exact Markov chains.

    python tests/reference/random_networks.py judge [FIRST END]   prints the shares near enough by family, and the worst
    python tests/reference/random_networks.py make FIRST END       adds networks, some 5 s each

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
from npexplore.networks.solve import solve_network

FILE = Path(__file__).with_suffix(".csv")
MOST_STATES, MOST_ERROR = 30_000, 1e-3
NEAR, FAR = 0.10, 0.30


def time_of(r, mean, kinds):
    """Return a random time of a mean."""
    kind = r.choice(kinds)
    if kind == "erlang":
        return kind, {"distribution": kind, "mean": mean, "stages": r.choice([2, 3, 4])}
    if kind == "hyperexponential":
        p = r.choice([0.1, 0.3, 0.7, 0.9])
        short = mean * r.uniform(0.2, 0.8)
        return kind, {"distribution": kind, "probability": p, "means": [short, (mean - p * short) / (1 - p)]}
    return kind, {"distribution": "exponential", "mean": mean}


def arrivals_of(r):
    """Return a family and arrivals of one customer a second."""
    kind = r.choice(["poisson", "renewal", "renewal", "batch", "on_off"])
    if kind == "renewal":
        family, interval = time_of(r, 1.0, ["erlang", "hyperexponential"])
        return f"{family} arrivals", {"process": kind, "interval": interval}
    if kind == "batch":
        return kind, {"process": kind, "rate": 1.0, "size": r.choice([2, 3])}
    if kind == "on_off":
        return kind, {"process": kind, "rate": 1.0, "on": r.choice([2.0, 5.0]), "off": r.choice([1.0, 4.0])}
    return kind, {"process": kind, "rate": 1.0}


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


def make(first, end):
    """Add the exact mean responses of the networks whose chains have at most MOST_STATES states."""
    known = {int(row["seed"]) for row in csv.DictReader(FILE.read_text().splitlines())}
    with FILE.open("a", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        for seed in sorted(set(range(first, end)) - known):
            try:
                (chain,) = solve_network(network_of(random_network(seed)[1]), ["ctmc"], most_states=MOST_STATES)
            except NpexploreError:
                continue
            if chain.refused is None and chain.error < MOST_ERROR:
                out.writerow((seed, f"{chain.classes['c'].mean_response:.7g}"))
                file.flush()


def compared(first=0, end=1 << 30):
    """Yield (seed, families, relative error of queueing, or the sentence that refuses) of the stored networks."""
    for row in csv.DictReader(FILE.read_text().splitlines()):
        seed, truth = int(row["seed"]), float(row["mean_response_s"])
        if first <= seed < end:
            families, description = random_network(seed)
            (answer,) = solve_network(network_of(description), ["queueing"])
            yield seed, families, answer.refused or answer.classes["c"].mean_response / truth - 1


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
