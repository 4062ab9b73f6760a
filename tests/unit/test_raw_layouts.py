"""Layouts of the RAW router: every file can be built, impossible ones are refused with the tiles named."""

import msgspec
import pytest

from npexplore.designs import design
from npexplore.designs.raw.larger_layouts import crossing_layout, scaled_layout
from npexplore.designs.raw.layouts import (
    CardPins,
    Memory,
    Pipeline,
    Stream,
    Switch,
    check_layout,
    layout_names,
    layout_schema,
    load_layout,
)
from npexplore.errors import InputError, ModelError, SimulationError, UnknownNameError
from npexplore.machine.workload_sources import workload


def changed(name="v2", **parts):
    return msgspec.structs.replace(load_layout(name).file, **parts)


@pytest.mark.parametrize("name", layout_names())
def test_every_layout_can_be_built_and_names_its_source(name):
    layout = load_layout(name)
    assert layout.file.name == name
    assert layout.file.source
    assert layout.ports


def test_places_of_the_paper():
    assert [m.tile for m in load_layout("v1").buffers] == [2, 14]
    assert sorted(m.tile for m in load_layout("v2").buffers) == [4, 7, 12, 15]
    rows, columns = load_layout("v1").file.pipeline, load_layout("v2").file.pipeline
    assert [p.stages for p in rows] == [[4 * k + n for n in range(4)] for k in range(4)]
    assert [p.stages for p in columns] == [[12 + k, 8 + k, 4 + k, k] for k in range(4)]  # rotated by 90 degrees


def test_crossing_streams_are_refused():
    file = changed()
    across = Stream(port=0, network="static2", carries="payload", to="buffer_1", routes=[[12, 8, 9, 5, 4]])
    memory = [msgspec.structs.replace(m, ports=[0, 1]) if m.name == "buffer_1" else m for m in file.memory]
    with pytest.raises(ModelError, match=r"streams \d+ \(port 1\) and \d+ \(port 0\) cross on static2: both use .* 9"):
        check_layout(msgspec.structs.replace(file, stream=[*file.stream, across], memory=memory))


def test_streams_that_cross_are_laid_out_where_the_layout_says_so():
    file = crossing_layout(in_turns=False).file
    with pytest.raises(ModelError, match=r"streams 5 \(port 1\) and 6 \(port 2\) cross on static2: both use .* tile 9"):
        check_layout(msgspec.structs.replace(file, crossings="refused"))
    assert crossing_layout(in_turns=True).turns("static2") == [[9, 1, 2]]


@pytest.mark.parametrize(
    ("switch", "message"),
    [
        (Switch(tile=9, network="static2", turns=[5, 7]),
         r"tile 9 waits for stream 7 \(payload of port 3\), whose words never come there: its route is 15$"),
        (Switch(tile=9, network="static2", turns=[5]), r"tile 9 never takes up stream 6 \(payload of port 2\)"),
        (Switch(tile=9, network="static2", turns=[5, 1]), r"tile 9 waits for path 4; there are 0\.\.3"),
    ],
)  # fmt: skip
def test_a_switch_program_that_waits_for_a_word_that_never_comes(switch, message):
    with pytest.raises(ModelError, match=message):
        check_layout(msgspec.structs.replace(crossing_layout(in_turns=True).file, switch=[switch]))


def test_a_version_that_streams_no_payload_has_no_words_for_the_program():
    told = r"tile 9 waits for stream 5 \(payload of port 1\) on the route 13 > 9 > 5 > 6 > 7"
    with pytest.raises(ModelError, match=told):
        design("raw").with_(version="v4", layout="crossed_in_turns").machine()


def test_crossings_that_stop_each_other_are_refused():
    """Both payloads go along row 1, in opposite directions: each would wait for the other's switch."""
    file = crossing_layout(in_turns=False).file
    streams = [
        msgspec.structs.replace(one, routes=[[14, 10, 6, 5, 4]]) if one.to == "buffer_1" else one for one in file.stream
    ]
    told = r"streams deadlock: stream 5 \(payload of port 1\) holds the switch of tile 5 and waits for that of"
    with pytest.raises(ModelError, match=told):
        check_layout(msgspec.structs.replace(file, stream=streams))


def test_streams_of_one_port_may_share_their_way():
    assert load_layout("v5").header_stream(1) is not None  # both pipelines of a card begin at its tile


def test_a_tile_has_one_owner():
    pipelines = [Pipeline(port=0, stages=[12, 8, 4, 0]), Pipeline(port=1, stages=[13, 9, 4, 1])]
    with pytest.raises(ModelError, match="tile 4 has two owners, stage 3 of pipeline 0 and stage 3 of pipeline 1"):
        check_layout(changed(pipeline=pipelines))


V2 = load_layout("v2").file


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"line_card": V2.line_card[:7]}, "port 3 is not connected: .* in at tile 15, none out"),
        ({"stream": V2.stream[1:]}, r"pipeline 0 on tiles \[12, 8, 4, 0\] is not connected"),
        ({"pipeline": V2.pipeline[:3], "stream": []}, "port 3 is not connected: no pipeline"),
        ({"memory": V2.memory[1:], "stream": [], "feed": "dynamic"}, "port 0 is not connected: no mem"),
    ],
)  # fmt: skip
def test_an_unconnected_port_is_refused(parts, message):
    with pytest.raises(ModelError, match=message):
        check_layout(changed(**parts))


def test_pins_are_at_the_border_and_have_one_device():
    inside = CardPins(port=4, direction="in", tile=5, side="west")
    with pytest.raises(ModelError, match="needs pins, tile 5 has none on its west side"):
        check_layout(changed(line_card=[*load_layout("v2").file.line_card, inside]))
    second = Memory(name="other", use="table", tile=12, side="west")
    with pytest.raises(ModelError, match="both on the west pins of tile 12"):
        check_layout(changed(memory=[*load_layout("v2").file.memory, second]))


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (Stream(port=0, network="static1", carries="header", routes=[[13], [13, 9]]), "starts at tile 13.* tile 12"),
        (Stream(port=0, network="static1", carries="header", routes=[[12, 8]]), r"ends at tiles \[8\]"),
        (Stream(port=0, network="static2", carries="payload", to="buffer_3", routes=[[12]]), r"packets of ports \[3\]"),
        (Stream(port=0, network="static2", carries="payload", to="buffer_0", routes=[[12, 8]]), "ends at tile 8, but"),
        (Stream(port=0, network="static1", carries="header", routes=[[12, 9]]), "are not neighbours"),
    ],
)  # fmt: skip
def test_streams_lead_from_the_card_to_what_they_feed(stream, message):
    with pytest.raises(ModelError, match=message):
        check_layout(changed(stream=[stream]))


def test_names_and_files(tmp_path):
    with pytest.raises(UnknownNameError, match="nearest: v3d"):
        load_layout("v3dd")
    bad = tmp_path / "bad.toml"
    bad.write_text('name = "bad"\ntitel = "x"\n')
    with pytest.raises(InputError, match=r"bad\.toml: .*titel.*nearest: title"):
        load_layout(bad)
    assert "line_card" in layout_schema()["$defs"]["LayoutFile"]["properties"]


@pytest.mark.parametrize("feed", ["static", "dynamic"])
@pytest.mark.parametrize(("columns", "bands"), [(4, ["south"]), (8, ["south"]), (8, ["south", "north"])])
def test_larger_chips(columns, bands, feed):
    layout = scaled_layout(columns, bands, feed)
    assert len(layout.ports) == len(layout.buffers) == columns * len(bands)
    assert {t for p in layout.file.pipeline for t in p.stages} == set(range(4 * columns * len(bands)))


def test_larger_static_layouts_do_not_cross_and_swapped_rows_do():
    """Payloads go to the side in rows of their own; two columns that swap their rows meet."""
    file = scaled_layout(8, ["south"], "static").file
    paths = [stream.routes[0] for stream in file.stream if stream.carries == "payload"][:4]
    assert paths[2] == [26, 18, 10, 9, 8]
    tiles = [tile for path in paths for tile in path]
    assert len(tiles) == len(set(tiles))
    swapped = list(file.stream)
    swapped[3] = msgspec.structs.replace(swapped[3], routes=[[25, 24]], to="buffer_1")
    memory = [msgspec.structs.replace(m, tile=24, side="south") if m.name == "buffer_1" else m for m in file.memory]
    with pytest.raises(ModelError, match=r"24"):
        check_layout(msgspec.structs.replace(file, stream=swapped, memory=memory))


def test_a_chip_without_pins_for_its_buffers_is_refused():
    with pytest.raises(ModelError, match="need 20 buffers, not 8"):
        scaled_layout(20)


def test_a_router_that_stands_still_tells_tile_route_and_queue_in_one_line():
    """A switch in turns that waits for words behind a full queue; a route that keeps a switch from another's words."""
    load = workload(packet_bytes=1500)
    with pytest.raises(SimulationError) as in_turns:
        design("raw").with_(layout="crossed_in_turns").simulate(load, packets=300)
    said = str(in_turns.value)
    assert "wait for queue3.room" in said
    assert "static2.turn9.path1" in said
    assert "the switch of tile 9 waits for words of another route, whose turn it is; this one's is 13 to 7" in said
    with pytest.raises(SimulationError) as crossing:
        design("raw").with_(version="v1", store="beside").simulate(load, packets=300)
    said = str(crossing.value)
    assert "(the queue is full)" in said
    assert "static1.cross2 holding static1.turn[2 of path 4] (the switch of tile 2 is kept by a message of" in said
    assert "\n" not in said
