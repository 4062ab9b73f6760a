"""Which registers of a program share places of a context: by hand."""

from npexplore.designs.gorilla.lowered import lowered_router
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.hardware.allocation import START, Allocation, places_of
from npexplore.hardware.bit_sources import Sources
from npexplore.hardware.graph import Graph
from npexplore.hardware.places import NOWHERE, Places
from npexplore.hardware.programs import ENDS, LoweredProgram, LoweredStep


def step(name, goes, writes=None, asks=""):
    """Return a step that writes registers made of others, and goes by the lowest bit of one."""
    graph = Graph()
    made = {leaf: make(graph) for leaf, make in (writes or {}).items()}
    following = graph.binary("and", byte(asks)(graph), graph.const(1)) if asks else graph.const(0)
    return LoweredStep(name, graph, (), made, following, goes)


def byte(name):
    return lambda graph: graph.input(name, 0, 255)


def upper(name):
    return lambda graph: graph.shift("shr", graph.input(name, 0, 255), 4)


def more(name):
    return lambda graph: graph.binary("and", graph.binary("add", byte(name)(graph), graph.const(1)), graph.const(255))


def program(*steps, results=("out",), begins=("a",)):
    leaves = tuple((name, 0, 255) for name in ("a", "b", "c", "out"))
    return LoweredProgram("any", "one", {one.name: one for one in steps}, leaves, {}, frozenset(begins), results)


def test_copies_stay_where_they_are():
    made = places_of(program(step("one", ("two",), {"b": byte("a")}), step("two", (ENDS,), {"out": byte("b")})))
    assert made.bits == 8
    assert made.at["a"] == made.at["b"] == made.at["out"]
    assert made.writes == {"one": {}, "two": {}}
    assert made.at["c"] == (NOWHERE,) * 8


def test_a_copy_that_is_written_anew_has_its_own_place():
    first = step("one", ("two",), {"b": byte("a")})
    both = step("two", ("three",), {"b": more("b")})
    made = places_of(
        program(first, both, step("three", (ENDS,), {"out": byte("b"), "c": byte("a")}), results=("out", "c"))
    )
    assert made.bits == 16
    assert set(made.at["a"]).isdisjoint(made.at["b"])
    assert len(made.writes["one"]) == 8


def test_part_of_a_copy_is_read_out_of_the_whole():
    made = places_of(program(step("one", ("two",), {"b": upper("a")}), step("two", (ENDS,), {"out": byte("b")})))
    assert made.at["out"][:4] == made.at["a"][4:]
    assert made.bits == 5  # the upper half of a; one 0 for all others. The lower half nobody needs


def test_what_one_follower_needs_is_not_written_over_on_the_way_to_another():
    first = step("one", ("two", "three"), {"b": more("a")}, asks="a")
    two, three = step("two", (ENDS,), {"out": byte("b")}), step("three", (ENDS,), {"out": byte("a")})
    made = Allocation(program(first, two, three))
    assert {name for name, _ in made.held["one"]} == {"a", "b"}
    assert set(made.places.at["a"]).isdisjoint(made.places.at["b"])


def test_a_loop_keeps_what_it_comes_back_to():
    made = Allocation(program(step("one", ("one", "two"), {"b": more("a")}, asks="a"),
                              step("two", (ENDS,), {"out": byte("b")})))  # fmt: skip
    assert {name for name, _ in made.held["one"]} == {"a", "b"}
    assert {name for name, _ in made.held[START]} == {"a"}


def test_numbers_put_together_are_copies():
    graph = Graph()
    high = graph.shift("shl", graph.input("x", 0, 255), 8)
    whole = graph.binary("or", high, graph.input("y", 0, 255))
    bits = [("y", k) for k in range(8)] + [("x", k) for k in range(8)]
    found = Sources(graph)
    assert list(found.of(whole, 18)) == [*bits, 0, 0]
    assert list(found.of(graph.binary("and", whole, graph.const(0xF0)), 9)) == [0, 0, 0, 0, *bits[4:8], 0]
    assert list(found.of(graph.input("s", -4, 3), 5)) == [("s", 0), ("s", 1), ("s", 2), ("s", 2), ("s", 2)]
    chosen = graph.mux(graph.input("t", 0, 1), whole, graph.input("y", 0, 255))
    assert found.of(chosen, 16)[0] == ("y", 0)
    assert found.of(chosen, 16)[9] == (chosen, 9)
    assert found.kin((chosen, 9)) == (("x", 1),)


def test_a_register_is_read_run_by_run():
    places = Places({"r": (4, 5, NOWHERE, NOWHERE, 0, 2)}, 6, {}, {})
    assert places.read("r", "held") == "{held[2:2], held[0:0], 2'd0, held[5:4]}"
    assert places.put({1: ("r", 0), 2: ("r", 1), 4: ("r", 2)}) == [
        (0, 1, None), (1, 2, ("r", 0)), (3, 1, None), (4, 1, ("r", 2)), (5, 1, None)
    ]  # fmt: skip


def test_an_ipv4_context_holds_the_header_once():
    made = lowered_router(router_tables())
    every, window = Allocation(made), 8 * 80
    assert sum(every.sizes.values()) > 4 * window
    assert every.places.bits <= window
