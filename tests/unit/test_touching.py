"""What packets touch: words of golden structures at the addresses they are laid out at, rings, machines that say so."""

import numpy as np
import pytest
from reference.caches import uniform_miss

import npexplore as npx
from npexplore.errors import InputError, ModelError
from npexplore.golden.classify import CLASSIFIERS
from npexplore.golden.classify.rule_generator import generate_rules
from npexplore.golden.flow_table import FlowTable
from npexplore.golden.lookup import Dir24_8
from npexplore.golden.touches import DEVICE, Layout, Touches, ring
from npexplore.golden.work import Access, Work
from npexplore.machine.caches import Caches, Level
from npexplore.machine.described.parts import part
from npexplore.machine.touching import TABLES, Touched, columns, touches

LOAD = npx.workload(packet_bytes=64)
BOX = Caches((Level("l1", 32 << 10, 8), Level("l2", 256 << 10, 8), Level("l3", 15 << 20, 20, True)), cores=2)


def test_lookups_touch_the_entries_of_their_address():
    """DIR-24-8: entry of two bytes at the first 24 bits; a long route's segment behind the first table."""
    table = Dir24_8.from_routes([("10.1.2.0/24", 1), ("10.1.3.128/25", 2)])
    layout = Layout.of({"tbl24": (1 << 24, 2), "tbl8": (256, 2)}, first=4096)
    found = Touches.of_reads(table.reads_many([0x0A010207, 0x0A0103C8]), layout)
    far = 4096 + (2 << 24)
    assert found.packet.tolist() == [0, 1, 1]
    assert found.address.tolist() == [4096 + 2 * 0x0A0102, 4096 + 2 * 0x0A0103, far + 2 * 0xC8]
    assert layout.end == far + 4096


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_tell_words_that_are_in_their_tables(name):
    classifier = CLASSIFIERS[name](generate_rules(60, seed=1))
    layout = Layout.of({table: (words, 4) for table, words in classifier.storage().items()})
    works = [classifier.work(tuple(int(low) for low, _ in rule.ranges)) for rule in classifier.rules]
    found = Touches.of_work(works, layout)
    assert len(found) == sum(work.words() for work in works)
    for k, work in enumerate(works):
        for (table, words, _), at in zip(work.accesses, work.places, strict=True):
            assert 0 <= at <= classifier.storage()[table] - words, (k, table)
    assert set(found.address[found.packet == 0]) != set(found.address[found.packet == 30])


def test_more_routes_than_there_are_is_refused():
    with pytest.raises(InputError, match="dir24_8: entries must be at most the 20000 bundled routes, got 30000"):
        columns((Touched("dir24_8", 30_000),), BOX, 10)


def test_an_access_that_does_not_tell_where_is_refused():
    with pytest.raises(InputError, match="an access to table 'rules' does not tell which words it moves"):
        Touches.of_work([Work((Access("rules", 7),))], Layout.of({"rules": (7, 4)}))


def test_a_full_bucket_goes_on_in_the_next():
    table = FlowTable(buckets=1, entries=2)
    table.insert(5, 50)
    table.insert(6, 60)
    assert [table.lookup(key) for key in (5, 6, 7)] == [50, 60, None]
    with pytest.raises(InputError, match="flow 7: all 2 entries are in use"):
        table.insert(7, 70)
    many = FlowTable(buckets=16, entries=4)
    for key in range(60):
        many.insert(key, 2 * key)
    assert [many.lookup(key) for key in range(60)] == [2 * key for key in range(60)]
    reads = many.reads_many(np.arange(60))
    assert (reads.word[:, 0] == [many.bucket(key) for key in range(60)]).all()
    assert reads.count.max() > 1


def test_a_slot_is_read_a_ring_after_it_was_written():
    """Two queues of two slots: the card fills all, then each slot again behind the packet that was read out of it."""
    written, read = ring(np.array([0, 1, 0, 1, 0, 1]), 2, 256, 100)
    assert read.address.reshape(6, 2)[:, 0].tolist() == [0, 512, 256, 768, 0, 512]
    assert (read.address.reshape(6, 2)[:, 1] == read.address.reshape(6, 2)[:, 0] + 64).all()  # 100 bytes: two lines
    assert written.when.reshape(6, 2)[:, 0].tolist() == [-1, -1, -1, -1, 0, 1]
    assert (written.core == DEVICE).all()
    with pytest.raises(InputError, match="at least one slot that holds what is written, got 0 slots of 256 bytes"):
        ring(np.zeros(1, np.int64), 0, 256, 64)


@pytest.mark.parametrize("what", TABLES)
def test_every_listed_table_is_touched_by_every_packet(what):
    flow = np.arange(40) % 10
    found = touches((Touched(what, 64, moved_bytes=64),), flow, flow % 2)
    assert set(found.packet.tolist()) == set(range(40))
    again = [found.address[found.packet == packet].tolist() for packet in (3, 13)]
    assert again[0] == again[1] or what == "ring"


def test_a_table_that_fits_no_more_misses_for_what_does_not_fit():
    """Buckets of a line each, all flows alike: the second cache's 4,096 lines of 16,000 flows, by two cores."""
    found = columns((Touched("flow_table", 40_000),), BOX, 32_000)
    behind = (found["l3_lines"] + found["memory_lines"]).mean() / (1 + 0.005)  # some flows read a second bucket
    assert behind == pytest.approx(uniform_miss(16_000, 4096), abs=0.03)
    assert columns((Touched("flow_table", 400),), BOX, 300)["l3_lines"].mean() == 0.0


MACHINE = """
name = "cached"
title = "cores behind caches"
[parameter]
cores = {{ kind = "knob", value = 4, about = "cores", source = "test" }}
ring = {{ kind = "knob", value = 512, about = "slots", source = "test" }}
ways = {{ kind = "knob", value = 20, about = "ways", source = "test" }}
[receive]
capacity_bytes = 1_048_576
[resource]
core = {{ type = "server", service_s = 0.0, units = "= p.cores" }}
cache = {{ type = "cpu_caches", cores = "= p.cores", replacement = "random", l3_ways = "= p.ways", refresh = "none" }}
[touching]
caches = "{caches}"
touch = [{{ what = "{what}", entries = "= p.ring", entry_bytes = 4096 }}]
[[pool]]
name = "thread"
count = "= p.cores"
program = '''
held = m.take("core")
m.cache.touch(l2_lines=packet.l2_lines, l3_lines=packet.l3_lines, memory_lines=packet.memory_lines, page_walks=0)
m.give(held)
m.receive.free(bytes=packet.packet_bytes)
'''
"""


@pytest.fixture
def cached(tmp_path):
    def made(what="ring", caches="cache", **knobs):
        (tmp_path / "cached.toml").write_text(MACHINE.format(what=what, caches=caches))
        return npx.design(tmp_path / "cached.toml").with_(**knobs)

    return made


@pytest.mark.parametrize("ring_slots", [512, 1024])
def test_solvers_take_the_lines_of_the_packets(cached, ring_slots):
    """12 ns of the third cache, and of what is in memory its access more; cores that do nothing else."""
    design = cached(ring=ring_slots)
    missed = design.workload(LOAD).columns["memory_lines"].mean()
    assert missed == pytest.approx({512: 0.0, 1024: 0.12}[ring_slots], abs=0.01)
    each = 12e-9 + missed * (13.328 + 13.328 + 4 * 0.833) * 1e-9
    limit, queued, seen = (solve(LOAD).rate_pps for solve in (design.bounds, design.queueing, design.simulate))
    assert limit == pytest.approx(4 / each, rel=1e-6)
    assert max(queued, seen) <= limit * 1.001
    assert queued == pytest.approx(seen, rel=0.05)


def test_a_file_that_extends_touches_what_its_base_does(cached, tmp_path):
    (tmp_path / "mine.toml").write_text('extends = "cached.toml"\nset = { ring = 1024 }\n')
    lines = [design.workload(LOAD).columns["memory_lines"] for design in (
        cached(ring=1024), npx.design(tmp_path / "mine.toml")
    )]  # fmt: skip
    assert (lines[0] == lines[1]).all()


@pytest.mark.parametrize(("given", "rule"), [
    ({"ways": 250_000}, r"p.l3_ways \* p.line_bytes must be at most p.l3_kb \* 1024, which is 15728640, got 16000000"),
    ({"ring": 0}, "ring: entries must be at least 1, got 0"),
    ({"what": "rings"}, r"table that packets touch 'rings' is unknown \(nearest: ring\)"),
    ({"caches": "core"}, "touching.caches must name a resource of type cpu_caches, got 'core'"),
])  # fmt: skip
def test_what_cannot_be_is_refused(cached, given, rule):
    with pytest.raises((InputError, ModelError), match=rule):
        cached(**given).machine()


def test_a_part_says_which_rule_is_broken():
    with pytest.raises(InputError, match=r"p\.device_ways must be at most p\.l3_ways, which is 20, got 21: devices"):
        part("cpu_caches", "cache", device_ways=21)
