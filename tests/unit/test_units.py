"""Numbers with units: one reader of texts, what units are refused, and what no such thing can have."""

import warnings

import pytest

from npexplore.errors import InputError
from npexplore.machine.resources import Processor
from npexplore.machine.ticks import common_tick, periods
from npexplore.units import ENDINGS, SPOKEN, UNITS, UnitWarning, doubt, parse_rate, parse_time, quantity, unit_of


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("0.625 ns", "s", 0.625e-9),
        ("312.5ps", "ns", 0.3125),
        ("200 MHz", "Hz", 200e6),
        ("2_500 MHz", "GHz", 2.5),
        ("5Gbps", "Mb/s", 5000.0),
        ("5 GB/s", "bytes/s", 5e9),
        ("40 Gb/s", "bytes/s", 5e9),
        ("64 KiB", "bytes", 65536.0),
        ("3 µs", "ns", 3000.0),
        ("1e-2 ms", "us", 10.0),
        ("12 B", "bytes", 12.0),
        ("3\u00a0GHz", "Hz", 3e9),
    ],
)
def test_a_text_with_a_unit_is_a_number_in_another_exactly(text, unit, value):
    assert quantity("it", text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("3 GHz", "s", "it must be in s or another unit of time, got '3 GHz' (frequency)"),
        ("3 mhz", "Hz", "it must be a number in Hz, got '3 mhz' (frequency: Hz, kHz, MHz, GHz)"),
        ("3", "s", "it must be a number in s, got '3'"),
        ("\u0663 GHz", "Hz", "it must be a number in Hz, got '\u0663 GHz'"),
        ("fast", "Hz", "it must be a number in Hz, got 'fast'"),
        ("3 ns", "furlongs", "it must be a number in furlongs, got '3 ns'"),
    ],
)
def test_a_unit_of_another_kind_is_one_line(text, unit, message):
    with pytest.raises(InputError) as caught:
        quantity("it", text, unit)
    assert str(caught.value).startswith(message)


def test_every_name_of_a_unit_is_one_that_is_known():
    assert set(SPOKEN.values()) | set(ENDINGS.values()) <= set(UNITS)
    assert not set(SPOKEN) & set(UNITS)
    assert [unit_of(name) for name in ("word_s", "clock_hz", "bytes_per_s", "engines", "s", "word_bytes")] == [
        "s", "Hz", "bytes/s", None, "s", "bytes",
    ]  # fmt: skip


def test_rates_and_times_go_through_the_same_reader():
    assert parse_rate("5Gbps") == (5e9, "bit/s")
    assert parse_rate("2 Mpps") == (2e6, "packets/s")
    assert parse_time("it", "2ms") == 2e-3
    with pytest.raises(InputError, match=r"rate must be in packets or bits per second, got '3ns' \(time\)"):
        parse_rate("3ns")
    with pytest.raises(InputError, match="it must be a time above 0"):
        parse_time("it", "3Gb/s")


@pytest.mark.parametrize(
    ("value", "unit", "likely"),
    [(200.0, "Hz", "200 MHz"), (4.0, "s", "4 ns"), (100.0, "bytes/s", "100 Gb/s"), (2.5, "Hz", "2.5 GHz")],
)
def test_what_cannot_be_is_told_with_the_likely_unit(value, unit, likely):
    with pytest.warns(UnitWarning, match=f"it is {value:g} {unit}, outside .*; is it '{likely}'"):
        doubt("it", value, unit)


@pytest.mark.parametrize(
    ("value", "unit"), [(1e9, "Hz"), (0.0, "s"), (4e-9, "s"), (1.25e9, "bytes/s"), (1e30, "words")]
)
def test_what_can_be_is_not(value, unit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doubt("it", value, unit)


def test_the_tick_is_a_common_divisor_of_the_clocks():
    assert common_tick({}) == 1e-12
    assert common_tick({"a": 4e-10, "b": 6.25e-10}) == 1e-12
    assert common_tick({"a": 312.5e-12}) == 5e-13
    assert common_tick({"a": 312.5e-12, "b": 1 / 3e9}) == pytest.approx(1e-12 / 6)
    assert periods([Processor("me", 2, 3e9)]) == {"me: cycle": 1 / 3e9}
    assert periods([Processor("me", 2, 3e9)], needed=True) == {}
    two = {"a": 7e-12 / 997, "b": 7e-12 / 991}
    with pytest.warns(UnitWarning, match=r"[ab]: .* is not a whole number of ticks of 1e-15 s: simulated 9.0e-03 off"):
        assert common_tick({f"{name}: cycle": seconds for name, seconds in two.items()}) == 1e-15
