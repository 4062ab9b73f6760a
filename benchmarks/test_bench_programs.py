"""Packet programs: instructions a second in loops, packets a second of programs of several lengths, by processor time.

The numbers of docs/programs.md. The plain interpreter in Python is the peer of the same run.
"""

import os

import numpy as np
import pytest
from reference.ebpf_interpreter import Memory, interpret
from reference.ebpf_kernel import FOLDER, SHIPPED, first_contents, packets
from reference.timing import held, record, seconds

import npexplore as npx
from npexplore._kernels import ebpf as k
from npexplore.testing import XdpRouter

COUNT = min(200_000, int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "200_000")))
LOOP = """mov r1, {turns}
mov r0, 0
loop: add r0, r1
xor r0, 7
sub r1, 1
jne r1, 0, loop
exit"""
PROGRAMS = (
    ("filters", "drop_all"), ("filters", "by_type"), ("filters", "by_port"), ("tables", "count_classes"),
    ("tables", "route"), ("tables", "flow_table"), ("filters", "checksum_right"), ("outputs", "reserve_record"),
)  # fmt: skip


def measured(benchmark, program, frames, **options):
    """Return the run of a program on frames; record its rates by processor time."""
    run = benchmark.pedantic(lambda: program.run(frames, keep=False, **options))
    took = seconds(lambda: program.run(frames, keep=False, **options), 1 if benchmark.disabled else 5)
    steps, calls = (run.rows[:, column].astype(float) for column in (k.INSTRUCTIONS, k.HELPERS))
    record(
        benchmark, million_packets_per_s=len(frames) / took / 1e6, million_instructions_per_s=steps.sum() / took / 1e6,
        instructions_of_a_packet=steps.mean(), helper_calls_of_a_packet=calls.mean(),
    )  # fmt: skip
    assert len(run) == len(frames)
    return steps.sum() / took


def test_instructions_of_a_loop(benchmark):
    ours = measured(benchmark, npx.program(LOOP.format(turns=5 * COUNT)), [bytes(64)], instruction_limit=50 * COUNT)
    few = npx.program(LOOP.format(turns=2000)).code
    frames = [(k.STACK + n * k.FRAME, bytearray(k.FRAME_BYTES), True) for n in range(k.FRAMES)]
    plain = 8003 / seconds(lambda: interpret(few, {}, Memory(frames), [frames[0][0] + k.FRAME_BYTES]))
    record(benchmark, times_the_plain_interpreter=ours / plain)
    held(benchmark, ours > 100 * plain)


@pytest.mark.parametrize(("file", "name"), PROGRAMS)
def test_packets_of_a_program(benchmark, file, name):
    program = npx.program(FOLDER / f"{file}.o", name)
    frames = packets(1000, np.random.default_rng(1)) * (COUNT // 1000)
    measured(benchmark, program, frames, maps=first_contents(program))


def test_packets_of_the_router(benchmark):
    mine = XdpRouter(SHIPPED / "router.o", "office")
    drawn = packets(1000, np.random.default_rng(1))
    frames = [mine.router.ports[0].mac + frame[6:] for frame in drawn if frame[12:14] == b"\x08\x00"]
    measured(benchmark, mine.program, frames * (COUNT // 1000), maps=mine.maps)
