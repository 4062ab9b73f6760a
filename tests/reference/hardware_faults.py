"""Whether a fault that is planted in generated Verilog is found out."""

from npexplore.errors import InputError


def differs(made, folder, name, text, cases):
    """Return whether file `name` with this text is found out by verdicts, a loss, the order or the bench.

    A text that does not compile would prove nothing: it fails the test.
    """
    (folder / name).write_text(text)
    try:
        return made.verify(folder, cases, cases, "iverilog").differences > 0
    except InputError as fault:
        told = str(fault)
    assert "iverilog failed" not in told, told
    return True
