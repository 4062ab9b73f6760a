"""A bounded run of the golden router's fuzzer (NPEXPLORE_FUZZ_SECONDS, default 30) over named cases and earlier finds.

What a run finds is kept beside the checkout in .fuzz/golden, or in a folder of the one that NPEXPLORE_FUZZ_CORPUS
names.
"""

import pytest
from fuzz.driver import bounded_run, corpus_of
from reference.router_cases import named_cases


@pytest.mark.slow
def test_any_frame_has_a_sound_outcome():
    corpus = corpus_of("golden")
    corpus.mkdir(parents=True, exist_ok=True)
    for number, (_, port, frame) in enumerate(named_cases()[1]):
        (corpus / f"named_{number:03}").write_bytes(bytes([0x80 | port]) + frame)
    bounded_run("golden_target.py", corpus)
