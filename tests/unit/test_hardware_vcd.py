"""Value change dumps are read cycle by cycle; signals, graphs of expressions and areas are drawn."""

import pandas as pd
import pytest

from npexplore.errors import InputError
from npexplore.hardware.graph import Graph
from npexplore.hardware.vcd import read_vcd
from npexplore.paths import share
from npexplore.plot import hardware

DUMP = """$scope module top $end
$var reg 1 ! clk $end
$var reg 4 " \\at[0] [3:0] $end
$upscope $end
$enddefinitions $end
#0
0!
bx "
#5
1!
b101 "
#10
0!
#15
1!
"""


def read(folder, text):
    (folder / "a.vcd").write_text(text)
    return read_vcd(folder / "a.vcd")


def test_a_cycle_is_what_stood_before_the_edge(tmp_path):
    assert read(tmp_path, DUMP) == {"clk": [0, 0], "at[0]": [-1, 5]}


def test_what_no_dump_is(tmp_path):
    with pytest.raises(InputError, match="must have a clock named 'clk', got tick"):
        read(tmp_path, DUMP.replace("clk", "tick").replace("\\at[0] [3:0]", "tick"))
    with pytest.raises(InputError, match=r"a\.vcd:16: a change of '\?', which no"):
        read(tmp_path, DUMP + "1?\n")
    for change in ("r1.5 !", "1", "b12 !", "hello"):
        with pytest.raises(InputError, match=r"a\.vcd:16: a change"):
            read(tmp_path, DUMP + change)


@pytest.mark.parametrize("blank", [" ", "\n", "\r\n", "\t"])
def test_blanks_of_any_kind_part_the_words_of_a_dump(tmp_path, blank):
    assert read(tmp_path, blank.join(DUMP.split())) == {"clk": [0, 0], "at[0]": [-1, 5]}
    assert read(tmp_path, DUMP.replace("#5", "$comment 1? $end #5 $dumpvars $end")) == {"clk": [0, 0], "at[0]": [-1, 5]}


def test_signals_of_one_name_are_told_apart_by_their_scopes(tmp_path):
    inner = "$scope module inner $end $var wire 1 ! clk $end $var reg 1 # at[0] $end $upscope $end\n$upscope"
    text = DUMP.replace("$upscope", inner, 1).replace("b101", "1# b101")
    assert read(tmp_path, text) == {
        "clk": [0, 0],
        "at[0]": [-1, 5],
        "top.inner.clk": [0, 0],
        "top.inner.at[0]": [-1, 1],
    }


def test_the_recorded_packet_goes_through_its_steps_in_order():
    signals = read_vcd(share("data", "hardware", "one_packet.vcd"))
    inside = [at for at, busy in zip(signals["at[0]"], signals["busy"], strict=True) if busy == 1]
    assert inside == sorted(inside)
    assert len(set(inside)) == 8  # seven steps and their end
    assert sum(one == 1 for one in signals["found"]) == 15
    assert signals["lookup4_0_done"].index(1) - signals["lookup4_0_valid"].index(1) == 12
    figure = hardware.waveform(
        signals, {"busy": "busy", "at[0]": "step"}, title="a packet", words={"at[0]": {1: "one"}}
    )
    assert [trace.name for trace in figure.data] == ["busy", "step"]
    assert [note.text for note in figure.layout.annotations] == ["one"]


def test_an_expression_is_drawn_with_its_inputs_and_bits():
    graph = Graph()
    ttl = graph.input("ttl", 0, 255)
    less = graph.binary("sub", ttl, graph.const(1))
    root = graph.mux(graph.binary("lt", graph.const(1), ttl), less, ttl)
    svg = hardware.expression(graph, root, pd.DataFrame(), label="a graph", names={"ttl": "time to live"}).svg()
    assert svg.count("<rect") == 3
    assert svg.count("<polyline") == 2
    assert "time to live - 1" in svg
    assert "9 bits" in svg  # nothing says here that the time to live is above 0
    assert "1 &lt; time to live" in svg
