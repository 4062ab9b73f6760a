"""Our answers beside the results that JMT stored in public files: `python benchmarks/jmt_stored.py DIRECTORY`.

DIRECTORY: a checkout with .jsimg, .jsim or .jmva files, such as JMT's own `examples`, those of LINE, or jsimIO's.
Prints one line for each stored mean that both define alike, and how many of ours meet the stored interval.
"""

import sys
from pathlib import Path

from npexplore.errors import InputError
from npexplore.networks.description import load_network
from npexplore.networks.jmt_file import is_petri_net
from npexplore.networks.jmt_net import read_jmt_net
from npexplore.networks.jmt_results import beside, beside_net, stored_results
from npexplore.networks.solve import solve_network
from npexplore.solve.petri import solve_chain

CUSTOMERS = 200_000


def rows_of(path):
    """Return rows of stored means, and the solver whose answers stand in them."""
    stored = stored_results(path)
    if is_petri_net(path):
        return beside_net(stored, [solve_chain(read_jmt_net(path)).to_dict()]), "ctmc"
    network = load_network(path)
    results = solve_network(network, ["queueing"], range(1, 2))
    if not results[0].exact:
        results = solve_network(network, ["simulation"], range(1, 6), CUSTOMERS)
    return beside(stored, results, network), results[0].solver


def main(folder):
    met = tried = 0
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix not in (".jsimg", ".jsim", ".jmva") or "-result." in path.name:
            continue
        try:
            rows, solver = rows_of(path)
        except InputError as error:
            print(f"{path.name}: {error}"[:160])
            continue
        for row in rows:
            value = row["ours"].get(solver)
            if value is None or row["low"] is None:
                continue
            inside = row["low"] <= value <= row["high"]
            met, tried = met + inside, tried + 1
            what = f"{path.name}: {row['station'] or ''} {row['class'] or ''} {row['measure']}"
            stored = f"stored {row['stored']:.5g} [{row['low']:.5g}, {row['high']:.5g}]"
            print(f"{what}: {stored}, {solver} {value:.5g}{'' if inside else '  OUTSIDE'}")
    print(f"{met} of {tried} inside the stored interval")


if __name__ == "__main__":
    main(sys.argv[1])
