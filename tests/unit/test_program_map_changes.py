"""What other maps would do to a program on the server: keys at random behind the caches, values of each core's own."""

import pytest

import npexplore as npx
from npexplore.designs.server.map_changes import operations, per_cpu_events, random_key_cycles
from npexplore.programs.records import MAP_KINDS, MapDefinition

WIKIPEDIA = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
NUMBERS = {name: number for number, name in MAP_KINDS.items()}
COUNT = """
.map seen hash 4 8 1024
stdw [r10-8], 0
lddw r1, map seen
mov r2, r10
add r2, -8
call map_lookup_elem
jeq r0, 0, new
mov r1, 1
lock add [r0+0], r1
ja out
new: stdw [r10-16], 1
lddw r1, map seen
mov r2, r10
add r2, -8
mov r3, r10
add r3, -16
mov r4, 0
call map_update_elem
out: mov r0, 1
exit
"""


@pytest.fixture(scope="module")
def machine():
    return npx.design("server").with_program(npx.program(COUNT), WIKIPEDIA)


@pytest.mark.parametrize(("kind", "entry", "lines"), [("hash", 80, 2), ("array", 8, 1), ("percpu_hash", 88, 3)])
def test_keys_at_random_cost_the_level_of_the_caches_that_holds_them(machine, kind, entry, lines):
    p, table = machine.parameters, MapDefinition("t", NUMBERS[kind], 4, 8, 16)
    assert random_key_cycles(table, int(p.l1_kb) * 1024 // entry, p) == 0  # as the first cache holds
    among = [random_key_cycles(table, keys, p) for keys in (10**3, 10**4, 10**5, 10**6, 10**12)]
    assert among == sorted(among)
    assert among[-1] == pytest.approx(lines * float(p.miss_cycles), rel=1e-3)
    half = 2 * int(p.l2_kb) * 1024 // entry  # half of its lines in the second cache, the rest in the third
    first = int(p.l1_kb) / (2 * int(p.l2_kb))
    expected = lines * ((0.5 - first) * float(p.l2_cycles) + 0.5 * float(p.l3_cycles))
    assert random_key_cycles(table, half, p) == pytest.approx(expected, rel=1e-3)


def test_a_value_of_each_core_needs_no_atomic():
    table = MapDefinition("t", NUMBERS["hash"], 4, 8, 16)
    events = {"instruction": 9.0, "atomic": 2.0, "lookup.hash": 1.0, "found.hash": 1.0, "lookup.lru_hash": 3.0}
    other = {"instruction": 11.0, "load": 2.0, "lookup.percpu_hash": 1.0, "found.percpu_hash": 1.0}
    assert per_cpu_events(events, (table,)) == other | {"lookup.lru_hash": 3.0}


def test_changes_of_maps_move_the_rate_and_what_explain_says(machine):
    run = machine.program.run
    asked = {path: dict(maps) for path, maps in operations(run).items()}
    assert sorted(asked.values(), key=str) == [{"seen": 1.0}, {"seen": 2.0}]  # found, and new: looked up and entered
    at_random, per_cpu = machine.program.changes(machine)
    each = random_key_cycles(run.program.used_maps[0], 1_000_000, machine.parameters)
    present = float(machine.program.own_cycles().mean() + machine.program.around(machine.parameters).mean())
    times = (len(run) + 1) / len(run)  # one packet enters the key
    assert at_random.gain == pytest.approx(present / (present + times * each) - 1, rel=0.01)
    price = machine.program.costs.cycles
    before, after = {"atomic": 1, "lookup.hash": 1, "found.hash": 1}, {"instruction": 1, "load": 1}
    saved = price(before) - price(after | {"lookup.percpu_hash": 1, "found.percpu_hash": 1})
    assert per_cpu.gain == pytest.approx(present / (present - saved) - 1, rel=0.02)
    assert machine.with_(map_lines="in_order").program.changes(machine.with_(map_lines="in_order")) == ()
    e = machine.explain(elasticities=False, changes=True, knees=False, packets=200)
    assert f"map seen per CPU {100 * per_cpu.gain:+.3g} %; 1,000,000 keys at random in map seen -" in str(e)
    assert [one["change"] for one in e.to_dict()["program_changes"]] == [at_random.change, per_cpu.change]
