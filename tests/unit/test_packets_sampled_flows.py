"""Flows within a limit of memory: all of them where they fit, else whole flows of a sample, and what they stand for."""

from pathlib import Path

import pandas as pd
import pytest

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.packets import read_capture
from npexplore.packets.files import open_captures
from npexplore.packets.frames import write_frames
from npexplore.packets.sampled_flows import FLOW_BYTES, PACKET_BYTES, sampled_flows
from npexplore.testing.probes import packet

SAMPLE = Path(__file__).parents[2] / "data" / "captures" / "zeek_wikipedia.pcap"


def many(folder, flows=600, packets=3):
    """Write a capture of UDP flows of packets both ways, one flow's behind the other's."""
    frames = []
    for number in range(packets):
        for flow in range(flows):
            ends = [(10 << 24 | flow, (5000 + flow % 7).to_bytes(2, "big")), (192 << 24 | 1, b"\0\x35")]
            (source, sport), (destination, dport) = ends[:: 1 - 2 * (number % 2)]
            data = packet(source, destination, sport + dport + bytes(20))
            frames.append(bytes(12) + b"\x08\x00" + data)
    path = folder / "many.pcap"
    write_frames(path, frames, [1000 * k for k in range(len(frames))])
    return path


@pytest.mark.parametrize("flows_held", [400, 80])
def test_sampled_flows_are_whole_and_stand_for_all(tmp_path, flows_held):
    path = many(tmp_path)
    whole = read_capture(path).flows()
    sample, each = sampled_flows(open_captures(path), flows_held * (3 * PACKET_BYTES + FLOW_BYTES))
    assert each == {400: 2, 80: 8}[flows_held]
    assert (sample.weight == each).all()
    assert 0.6 < len(sample) * each / len(whole) < 1.5
    columns = list(whole.columns)
    both = sample[columns].merge(whole, how="left", on=columns, indicator=True)
    assert (both["_merge"] == "both").all()


def test_flows_that_fit_are_all_there():
    sample, each = sampled_flows(open_captures(SAMPLE), 1 << 20)
    assert each == 1
    pd.testing.assert_frame_equal(sample, read_capture(SAMPLE).flows())


def test_a_flow_that_does_not_fit_is_an_error(tmp_path, capsys):
    path = many(tmp_path, flows=1, packets=200)
    with pytest.raises(InputError, match="one flow has more packets than --memory holds"):
        sampled_flows(open_captures(path), 100 * PACKET_BYTES)
    assert main(["trace", "flows", str(path), "--memory", "1MiB"]) == 2
    assert "--memory must be at least 64 MiB, got 1MiB" in capsys.readouterr().err
