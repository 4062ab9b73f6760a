"""Random nets with every feature of the language."""

from npexplore.machine.petri import net

DELAYS = ("{k}", "exponential({k})", "uniform({k}, {k} + 2)", "erlang({k}, 2)", "hyperexponential((1, {k}), 0.3)")
CARRIED = {"x": 1, "y": 2}
DATA = (  # lines that make, move, split, join and end tokens with data
    "{a} -> D, set x = draw(3), set y = 1 + draw(4)",
    "{a} -> Q[x], set x = 2 if chance(0.4) else draw(2), set y = {k}",
    "D -> Q[x]",
    "D -> Q[x] + {a}, if y > 1, set y = y - 1",
    "D + R[x] -> Q[x + 1]",
    "Q[i] -> D + R[i], if y % 2 == i % 2 or R[x] > 1",
    "Q[i] -> {a}, unless 2 R[i]",
    "Q[i] + D -> D, if i < 2",
    "2 Q[i] -> D + {a}",
    "D -> {a} + (y) R[0]",
    "D ->, while R[x]",
    "Q[i] -> Q[x], using {a}, set x = (x + i) % 3",
)  # fmt: skip


def random_run_net(rng, timing):
    """Return a net of up to four plain places, lines of tokens with data, and three to nine transitions."""
    names = "ABCE"[: rng.integers(2, 5)]
    places = {
        name: {"tokens": int(rng.integers(0, 4)), "capacity": int(rng.integers(3, 6))} if rng.random() < 0.4
        else int(rng.integers(0, 4))
        for name in names
    }  # fmt: skip
    places |= {
        "D": {"of": "d", "tokens": int(rng.integers(0, 3)), "carried": CARRIED},
        "Q[i]": {"of": "d"},
        "R[i]": 1,
        "E2": 0,
    }

    def pick():
        return str(rng.choice(list(names)))

    def terms():
        many = f"{rng.integers(1, 3)} " if rng.random() < 0.2 else ""
        return " + ".join(dict.fromkeys([many + pick(), pick()][: rng.integers(1, 3)]))

    lines = {}
    for t in range(int(rng.integers(3, 10))):
        data = rng.random() < 0.5
        if data:
            line = str(rng.choice(DATA)).format(a=pick(), k=rng.integers(1, 4))
        else:
            first = terms()
            given = f"({pick()}) E2" if rng.random() < 0.1 else terms() if rng.random() < 0.8 else ""
            line = f"{first} -> {given}"
        for chance, clause in (
            (0.15, f"unless {rng.integers(1, 4)} {pick()}"), (0.1, f"while {pick()}"),
            (0.1, f"if {pick()} != 1 or D > 0"), (0.15, f"using {pick()}"), (0.1, guard(rng, pick())),
        ):  # fmt: skip
            line += f", {clause}" if rng.random() < chance else ""
        kind, k = rng.random(), rng.integers(1, 6)
        weighted = f", priority {rng.integers(0, 3)}" + (f", weight {rng.choice(['2', '3', '1 + A'])}" if k > 3 else "")
        if kind < 0.3:
            line += weighted
        elif timing == "duration":
            by_data = data and line.split("->")[0].strip()[:1] in "DQ" and line[:2] != "D " + "+"
            line += f", for {k} + {'y' if by_data else pick()}" if rng.random() < 0.3 else f", for {delay(rng, k)}"
            line += weighted if rng.random() < 0.5 else ""
        elif rng.random() < 0.5:
            line += f", for {delay(rng, k)}"
        else:
            line += rng.choice(
                [f", rate {k}, servers {rng.choice(['2', 'all'])}", f", rate {k} * {pick()}", f", rate {k}"]
            )
        lines[f"t{t}"] = line
    return net(timing=timing, index={"i": 3}, token={"d": {"x": "i", "y": "number"}}, place=places, transition=lines)


def guard(rng, place):
    """Return a guard that divides by a place's tokens where there are some."""
    texts = (
        "{a} == 0 or 6 // {a} > 2",
        "{a} and 5 % {a} != 1 and D < 4",
        "(6 / {a} if {a} else 3) > 2",
        "not ({a} == 0 or D and 4 / {a} / D < 1)",
    )
    return "if " + str(rng.choice(texts)).format(a=place)


def delay(rng, k):
    return str(rng.choice(DELAYS)).format(k=k)


def random_plain_net(rng):
    """Return a net of durations in which no formula, capacity or data decides; in a third many are under way."""
    names = "ABCE"[: rng.integers(2, 5)]
    crowd = 40 if rng.random() < 0.3 else 3
    places = {name: int(rng.integers(0, crowd)) for name in names}

    def terms(most):
        many = int(rng.integers(0, most + 1))
        return " + ".join(f"{rng.choice(['', '', '2 '])}{name}" for name in rng.permutation(list(names))[:many])

    lines = {}
    for t in range(int(rng.integers(2, 90 if rng.random() < 0.1 else 9))):
        first = terms(2) or "A"
        line = f"{first} -> {terms(2)}"
        for chance, clause in (
            (0.15, f"unless {rng.integers(1, 6)} {rng.choice(list(names))}"),
            (0.1, f"while {rng.choice(list(names))}"),
            (0.2, f"using {rng.choice(list(names))}"),
        ):
            line += f", {clause}" if rng.random() < chance else ""
        line += f", for {delay(rng, rng.integers(1, 40)) if rng.random() < 0.95 else 0}" if rng.random() < 0.8 else ""
        line += f", priority {rng.integers(0, 3)}" if rng.random() < 0.4 else ""
        line += f", weight {rng.choice(['2', '3'])}" if rng.random() < 0.2 else ""
        lines[f"t{t}"] = line
    return net(timing="duration", place=places, transition=lines)
