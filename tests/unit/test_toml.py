"""Faults of TOML files: place, rule, value got, and the nearest keys of other tables than the faulty one."""

from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from npexplore.errors import FaultsError, InputError
from npexplore.toml import Record, decode


class Queue(Record):
    """A table with a key that the other kind of table does not have."""

    packets: Annotated[int, msgspec.Meta(ge=1)] = 64
    scheduler: str = "drr"


class Rule(Record):
    """A table in a list."""

    port: int = 0
    schedule: str = ""


class File(Record):
    """A whole file."""

    queue: dict[str, Queue] = msgspec.field(default_factory=dict)
    rule: list[Rule] = msgspec.field(default_factory=list)
    scheduler: str = "drr"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule = [{}, {port = 'x'}]", "expected `int`, got `str` in rule[1].port"),
        ("[queue.a]\npacket = 1", "key 'packet' is unknown (nearest: packets) in queue.a"),
        ("[[rule]]\nscheduler = 'x'", "key 'scheduler' is unknown (nearest: schedule"),
        ("[queue.a]\n[queue.b]\npackets = 0", "expected `int` >= 1 in queue.b.packets, got 0"),
        ("[queue]\na.packets = -1.5", "expected `int`, got `float` in queue.a.packets"),
        ("scheduler = [", "not valid TOML"),
    ],
)
def test_faults_are_told(text, message):
    with pytest.raises(InputError) as caught:
        decode(text.encode(), File, Path("f.toml"))
    assert str(caught.value).startswith(f"f.toml: {message}"), str(caught.value)


def test_all_faults_are_told_at_once_with_their_own_places():
    text = """
schedular = "x"
[[rule]]
port = "one"
[[rule]]
[[rule]]
colour = "red"
port = 1.5
[queue.a]
packets = 0
scheduler = 4
"""
    with pytest.raises(FaultsError) as caught:
        decode(text.encode(), File, Path("f.toml"))
    assert sorted(caught.value.faults) == [
        "f.toml: expected `int` >= 1 in queue.a.packets, got 0",
        "f.toml: expected `int`, got `float` in rule[2].port",
        "f.toml: expected `int`, got `str` in rule[0].port",
        "f.toml: expected `str`, got `int` in queue.a.scheduler",
        "f.toml: key 'colour' is unknown (known: packets, port, queue, rule, schedule, scheduler) in rule[2]",
        "f.toml: key 'schedular' is unknown (nearest: scheduler, schedule)",
    ]


class Needs(Record):
    """A table that cannot do without its keys."""

    packets: int
    scheduler: str


def test_a_key_that_is_misspelt_is_not_told_as_missing_too():
    with pytest.raises(InputError) as caught:
        decode(b"packet = 1\nscheduler = 'x'", Needs, Path("f.toml"))
    assert str(caught.value) == "f.toml: key 'packet' is unknown (nearest: packets)"
    with pytest.raises(FaultsError) as several:
        decode(b"colour = 1\nscheduler = 5", Needs, Path("f.toml"))
    assert len(several.value.faults) == 3
