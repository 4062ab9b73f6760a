"""Start-up: `npexplore warm` leaves nothing to compile for the first `trace stats`, which imports little."""

import gc
import subprocess
import sys

import pytest

from npexplore.cli import main
from npexplore.paths import share

CAPTURES = ("zeek_wikipedia.pcap", "zeek_mixed-vlan-mpls.pcap", "zeek_modbus_modbusBig.pcap.gz")


@pytest.mark.slow
def test_trace_stats_compiles_nothing_after_warm(tmp_path):
    program = (
        "import sys, numba.core.event as event; from npexplore.cli import main\n"
        "with event.install_recorder('numba:compile') as compiled: status = main(sys.argv[1:])\n"
        "sys.exit(status or [entry.data['dispatcher'] for _, entry in compiled.buffer] or 0)"
    )

    def compiles_nothing(*arguments, **options):
        done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, **options)
        assert done.returncode == 0, done.stderr

    subprocess.run([sys.executable, "-m", "npexplore", "warm", "--pages"], check=True)  # less than `warm`
    for name in CAPTURES:
        compiles_nothing("trace", "stats", share("data", "captures", name))
    with share("data", "captures", CAPTURES[0]).open("rb") as file:
        compiles_nothing("trace", "stats", "-", stdin=file)
    compiles_nothing("trace", "convert", share("data", "captures", CAPTURES[0]), tmp_path / "made.pcapng")
    compiles_nothing("trace", "stats", tmp_path / "made.pcapng")


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
    assert found.splitlines()[-1] == "(100000, 5, 2)"
