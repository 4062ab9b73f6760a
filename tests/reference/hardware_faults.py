"""Whether a fault that is planted in generated Verilog is found out."""

import re

from npexplore.errors import InputError

PATIENCE = 1000  # cycles in which nothing leaves until the rest is lost: a design without a fault passes with it too


def impatient(bench):
    """Return a bench that does not wait long for a design that stands still."""
    text, times = re.subn(r"idle > 32'd\d{4,}", f"idle > 32'd{PATIENCE}", bench)
    assert times == 1
    return text


def differs(made, folder, name, text, cases):
    """Return whether file `name` with this text is found out by verdicts, a loss, the order or the bench.

    The first run that differs says so. A text that does not compile would prove nothing: it fails the test.
    """
    (folder / name).write_text(text)
    try:
        return made.verify(folder, cases, cases, "iverilog", brief=True).differences > 0
    except InputError as fault:
        told = str(fault)
    assert "iverilog failed" not in told, told
    return True
