"""A bounded run of the capture fuzzer (NPEXPLORE_FUZZ_SECONDS, default 30) over committed seeds and earlier finds.

What a run finds is kept beside the checkout in .fuzz/captures, or in a folder of the one that NPEXPLORE_FUZZ_CORPUS
names.
"""

import shutil
from pathlib import Path

import pytest
from fuzz.driver import bounded_run, corpus_of


@pytest.mark.slow
def test_reader_survives_and_equals_the_reference():
    corpus = corpus_of("captures")
    shutil.copytree(Path(__file__).parent / "corpus" / "captures", corpus, dirs_exist_ok=True)
    bounded_run("captures_target.py", corpus)
