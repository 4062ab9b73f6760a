"""Comparing a prediction with a published number: intervals, errors and verdicts, and that they fail when they must."""

import copy
import math
import pickle

import msgspec
import pytest

from npexplore import units
from npexplore.errors import InputError
from npexplore.ledger import load

NUMBER = load()["ixp2400.fig13.throughput.amp"]  # 6069 Mb/s
UPPER = load()["ixp2400.dram_validation.error"]  # at most 4 %
BAND = load()["ixp2400.claim.real_over_dos"]  # almost twice
HIGH = load()["ixp2400.fig12.bus.amp.base"]  # 97.6 % busy
LOW = load()["ixp2400.fig13.bank.amp"]  # 72 % busy
REACHES = load()["gorilla.perf.ipv4.16-6-2.nofc"]  # ordinal with an interval
SHAPE = load()["ixp1200.fig6.rm.shape"]
WITHHELD = load()["raw.trace.throughput.v4"]
BLIND = load()["ixp2400.fig9.bandwidth.n40"]  # 8.96 Gb/s, once withheld


@pytest.mark.parametrize(
    ("row", "x", "verdict"),
    [
        (NUMBER, 6069.4, "inside"),
        (NUMBER, 6069.6, "close"),
        (NUMBER, 6069 * 1.05, "close"),
        (NUMBER, 6069 * 1.0501, "off"),
        (NUMBER, 6069 * 0.9499, "off"),
        (NUMBER, 2 * 6069, "off"),
        (NUMBER, 6069 * 2.02, "off"),
        (NUMBER, -6069, "off"),
        (NUMBER, 6069.5 * (1 + 1e-12), "inside"),
        (NUMBER, math.nan, "off"),
        (NUMBER, math.inf, "off"),
        (UPPER, -1.0, "inside"),
        (UPPER, 4.5, "inside"),
        (UPPER, 4.501, "off"),
        (UPPER, 9.0, "off"),
        (BAND, 1.9, "inside"),
        (BAND, 2.001, "off"),  # a band has no margin
        (HIGH, 97.65, "inside"),
        (HIGH, 97.7, "close"),
        (HIGH, 97.73, "off"),  # the idle share is 5 % too small
        (HIGH, 100.0, "off"),
        (LOW, 75.5, "close"),
        (BAND, 3.8, "off"),
        (REACHES, 200.0, "inside"),
        (REACHES, 196.0, "off"),  # a claim that is missed is missed, however narrowly
        (SHAPE, True, "inside"),
        (SHAPE, False, "off"),
        (WITHHELD, 9.0, "withheld"),
        (BLIND, 8.96, "inside"),
        (BLIND, 9.4, "close"),
        (BLIND, 9.5, "off"),
    ],
)
def test_verdicts(row, x, verdict):
    assert row.verdict(x) == verdict


def test_errors_are_relative_to_the_point_and_signed():
    assert NUMBER.relative_error(6069 * 1.1) == pytest.approx(0.1)
    assert NUMBER.relative_error(6069 * 0.5) == pytest.approx(-0.5)
    assert NUMBER.relative_error(6069 * 3) == pytest.approx(2.0)


@pytest.mark.parametrize("row", [UPPER, BAND, REACHES, SHAPE, WITHHELD, load()["ixp2400.me.context_switch"]])
def test_rows_without_a_point_to_miss_have_no_error(row):
    assert row.relative_error(1.0) is None


def test_a_claim_is_not_judged_by_a_number():
    with pytest.raises(InputError, match=r"is judged by True or False, got 3\.0"):
        SHAPE.verdict(3.0)


def test_a_withheld_row_has_no_inside():
    with pytest.raises(InputError, match=r"'raw.trace.throughput.v4' \(withheld, number\) has no interval"):
        WITHHELD.inside(9.0)


def test_units_convert_both_ways():
    assert NUMBER.si(6069) == pytest.approx(6.069e9)
    assert NUMBER.from_si(6.069e9) == pytest.approx(6069)


def test_rows_do_not_change():
    with pytest.raises(AttributeError):
        NUMBER.point = 1.0
    with pytest.raises(TypeError):
        NUMBER.conditions["engines"] = 8
    assert msgspec.structs.replace(NUMBER, point=1.0).point == 1.0


def test_rows_can_be_copied_and_sent_to_workers():
    assert copy.deepcopy(NUMBER) == NUMBER
    assert pickle.loads(pickle.dumps(NUMBER)) == NUMBER


@pytest.mark.parametrize(
    ("unit", "dimension", "factor"),
    [
        ("GB/s", "bit rate", 8e9),
        ("MIPS", "instruction rate", 1e6),
        ("Mops/s", "operation rate", 1e6),
        ("words", "words", 1),
        ("bit/cycle", "bits per cycle", 1),
        ("person-years", "work", 52),
    ],
)
def test_units_of_the_papers(unit, dimension, factor):
    assert units.UNITS[unit] == (dimension, factor)
