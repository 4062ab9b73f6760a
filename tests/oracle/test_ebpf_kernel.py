"""eBPF programs and random instructions give what the Linux kernel gives: as recorded, and live where it is allowed."""

import pytest
from reference import ebpf_kernel as both

import npexplore as npx
from npexplore.programs.linux import is_available

RECORDED = dict(line.split() for line in both.RECORDED.read_text(encoding="utf-8").splitlines())


def test_random_instructions_give_the_recorded_results():
    programs = both.random_programs(300, 0)
    assert both.digest(both.own_results(programs), {}) == RECORDED["random"]


def test_programs_give_the_recorded_answers():
    wrong = []
    with both.one_processor() as cpu:
        for path, name in both.programs():
            program = npx.program(path, name)
            answers, maps = both.own(program, both.recorded_frames(name), cpu)
            if both.digest(answers, both.comparable(program, maps)) != RECORDED[name]:
                wrong.append(name)
    assert len(RECORDED) == 54
    assert not wrong


if is_available():

    def test_programs_give_what_the_kernel_gives():
        assert both.main(200, 3) == 0

    @pytest.mark.slow
    def test_random_instructions_give_what_the_kernel_gives():
        programs = both.random_programs(1500, 3)
        assert both.own_results(programs) == both.live_results(programs)
