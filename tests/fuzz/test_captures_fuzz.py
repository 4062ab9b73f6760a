"""A bounded run of the capture fuzzer (NPEXPLORE_FUZZ_SECONDS, default 30) over committed seeds and earlier finds.

What a run finds is kept beside the checkout in .fuzz/captures, or in the folder that NPEXPLORE_FUZZ_CORPUS names.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.slow
def test_reader_survives_and_equals_the_reference():
    corpus = Path(os.environ.get("NPEXPLORE_FUZZ_CORPUS", HERE.parent.parent / ".fuzz" / "captures"))
    shutil.copytree(HERE / "corpus" / "captures", corpus, dirs_exist_ok=True)
    seconds = os.environ.get("NPEXPLORE_FUZZ_SECONDS", "30")
    run = subprocess.run(
        [sys.executable, str(HERE / "captures_target.py"), seconds, str(corpus)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=int(seconds) + 240,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    assert "runs" in run.stdout + run.stderr
