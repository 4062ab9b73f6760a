"""What data/hardware records of an engine is what Icarus says today: one packet's signals, cycles of many."""

import csv

import pytest
from reference import one_packet

from npexplore.designs import design
from npexplore.designs.gorilla import cycles
from npexplore.designs.gorilla.hardware import EngineFiles, rated_and_hostile
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.hardware.vcd import read_vcd
from npexplore.paths import share


def test_the_recorded_packet_is_that_of_a_fresh_run(tmp_path):
    (tmp_path / one_packet.NAME).write_text(one_packet.recorded())
    assert read_vcd(tmp_path / one_packet.NAME) == read_vcd(share(*one_packet.FOLDER, one_packet.NAME))


def recorded_cycles():
    with share("data", "hardware", "cycles.csv").open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(int(row["threads"]), float(row["cycles_per_packet"])) for row in rows]


@pytest.mark.parametrize(("threads", "cycles"), recorded_cycles())
def test_recorded_cycles_of_a_packet_are_those_of_a_fresh_run(threads, cycles, tmp_path):
    made = EngineFiles(router_tables(), threads=threads, scheduler=str(design("gorilla").parameters.scheduler))
    made.write(tmp_path)
    rated, _ = rated_and_hostile(made.box, made.protocols, 300)
    found = made.verify(tmp_path, rated[:1], rated, "iverilog")
    assert (found.differences, found.first) == (0, "")
    assert round(found.cycles_per_packet, 1) == cycles


AGAIN = [("ipv4", cycles.ENGINE, 8), ("mpls_4", cycles.ENGINE, 8), ("ipv4", cycles.PROCESSOR, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "where", "threads"), AGAIN)
def test_a_recorded_trial_is_that_of_a_fresh_run(kind, where, threads):
    """Also: no cycle is lost to a port that is still taken, or mpls_4 would have 33 with eight threads."""
    one = next(
        one for one in cycles.trials()
        if (one.kind, one.where, one.threads, one.counting) == (kind, where, threads, False)
    )  # fmt: skip
    assert cycles.tried(design("gorilla").parameters, one) == one.cycles
