"""`fib_lookup` on a router's tables gives what the Linux kernel gives: as recorded, and live where it is allowed."""

import pytest
from reference import ebpf_fib as both

from npexplore.programs.linux import is_available
from npexplore.testing.linux_kernel import why_not


def test_answers_are_the_recorded_ones():
    recorded = [bytes.fromhex(line) for line in both.RECORDED.read_text(encoding="utf-8").split()]
    frames = both.questions(len(recorded), 0)
    wrong = [
        both.explained(frame)
        for frame, (_, mine), answer in zip(frames, both.own(frames), recorded, strict=True)
        if mine[14:] != answer
    ]
    assert len(recorded) == 300
    assert not wrong


if is_available() and why_not() is None:

    @pytest.mark.slow
    def test_answers_are_the_kernels():
        frames = both.questions(1500, 2)
        assert both.own(frames) == both.live(frames)
