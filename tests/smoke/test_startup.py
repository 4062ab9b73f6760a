"""Start-up: `npexplore warm` leaves nothing to compile for the first `trace stats`, which imports little."""

import gc
import os
import re
import subprocess
import sys

import pytest

from npexplore.cli import main
from npexplore.paths import share

CAPTURES = ("zeek_wikipedia.pcap", "zeek_mixed-vlan-mpls.pcap", "zeek_modbus_modbusBig.pcap.gz")


@pytest.mark.slow
def test_trace_stats_compiles_nothing_after_warm(tmp_path):
    """Numba tells each piece of code that it takes from its cache or puts there: none but those that `warm` used."""

    def used(*arguments, **options):
        program = "import sys; from npexplore.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", program, *map(str, arguments)]
        env = os.environ | {"NUMBA_DEBUG_CACHE": "1"}
        said = subprocess.run(command, env=env, check=True, capture_output=True, **options).stdout.decode()
        return set(re.findall(r"\[cache\] data (?:loaded from|saved to) '(.+?\.nbc)'", said))

    warm = used("warm", "--pages")  # less than `warm`, which compiles these too
    for name in CAPTURES:
        mine = used("trace", "stats", share("data", "captures", name))
        assert mine
        assert mine - warm == set()
    with share("data", "captures", CAPTURES[0]).open("rb") as file:
        assert used("trace", "stats", "-", stdin=file) - warm == set()
    used("trace", "convert", share("data", "captures", CAPTURES[0]), tmp_path / "made.pcapng")
    assert used("trace", "stats", tmp_path / "made.pcapng") - warm == set()


def test_trace_stats_imports_no_table_or_drawing_library():
    program = (
        "import sys; from npexplore.cli import main; main(sys.argv[1:]); "
        "print([name for name in ('pandas', 'plotly', 'pyarrow', 'scipy.special', 'tqdm') if name in sys.modules])"
    )
    capture = share("data", "captures", CAPTURES[0])
    command = [sys.executable, "-c", program, "trace", "stats", str(capture)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1] == "[]"


def test_kernels_that_are_compiled_already_do_not_ready_the_compiler():
    """What is not imported of numba was a third of the start-up; the first of two runs may have to compile."""
    program = (
        "import sys; from npexplore.cli import main; main(sys.argv[1:]); "
        "print('numba.np.arraymath' in sys.modules, 'numba.cpython.setobj' in sys.modules)"
    )
    command = [sys.executable, "-c", program, "trace", "stats", str(share("data", "captures", CAPTURES[0]))]
    first, again = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2))
    assert again.splitlines()[-1] == "False False"
    assert first.splitlines()[:-1] == again.splitlines()[:-1]


def test_the_collector_of_a_caller_is_left_alone(capsys):
    before = gc.get_threshold(), gc.get_freeze_count()
    assert main(["trace", "stats", str(share("data", "captures", CAPTURES[0]))]) == 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_the_programs_own_collector_is_spared():
    program = "import gc, sys; from npexplore.cli import main; main(); print(gc.get_threshold())"
    found = subprocess.run(
        [sys.executable, "-c", program, "--version"], check=True, capture_output=True, text=True
    ).stdout
    assert found.splitlines()[-1] == "(100000, 50, 100)"
