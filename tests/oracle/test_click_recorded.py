"""Elements do to packets what userlevel Click did, by exit and octet (recorded by reference/click_peer.py)."""

import gzip
import json
from pathlib import Path

from reference.click_peer import differences, own_answers

RECORDED = Path(__file__).parent / "recorded" / "click.json.gz"  # click_peer.py CLICK 54 400 --record


def test_elements_do_what_click_did():
    graphs = json.loads(gzip.decompress(RECORDED.read_bytes()))
    assert len(graphs) > 350
    for one in graphs:
        got = own_answers(one["graph"], [bytes.fromhex(frame) for frame in one["frames"]])
        assert isinstance(got, dict), got
        assert not differences(one["graph"], one["right"], got)
