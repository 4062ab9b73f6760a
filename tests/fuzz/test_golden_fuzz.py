"""Bounded runs of the golden router's fuzzers (NPEXPLORE_FUZZ_SECONDS, default 30) over named cases and earlier finds.

What a run finds is kept beside the checkout in .fuzz, or in the folder that NPEXPLORE_FUZZ_CORPUS names.
"""

import pytest
from fuzz.driver import bounded_run, corpus_of
from reference.router_cases import named_cases
from reference.router_cases6 import named_cases6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cases"),
    [("golden", named_cases()[1]), ("golden_mixed", [case[:3] for case in named_cases6()])],
    ids=["ipv4", "mixed"],
)
def test_any_frame_has_a_sound_outcome(name, cases):
    corpus = corpus_of(name)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, (_, port, frame) in enumerate(cases):
        (corpus / f"named_{number:03}").write_bytes(bytes([0x80 | port]) + frame)
    bounded_run(f"{name}_target.py", corpus)
