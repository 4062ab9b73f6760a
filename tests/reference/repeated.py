"""Comparisons with what runs by a machine's clock: a fault shows in every run, a machine that stops in some."""


def in_some_run(check, runs=6):
    """Call a check until it holds; raise what it raised if it holds in none of the runs. Each begins with new state."""
    for left in reversed(range(runs)):
        try:
            return check()
        except AssertionError:
            if not left:
                raise
    raise ValueError("no run")
