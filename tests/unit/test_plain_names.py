"""Names of the package say what they hold: no module binds more empty words or bare constants than its limit allows."""

from reference.plain_names import counts, empty_names, limits

MODULE = """
from json import loads as told
FEW = 3
def made(given, *, asked=None):
    for found in given:
        self._kept = found
    with open(asked) as found_at:
        pass
"""


def test_every_binding_of_an_empty_name_counts():
    assert empty_names(MODULE) == {"told": 1, "FEW": 1, "made": 1, "given": 1, "asked": 1, "found": 1, "kept": 1}


def test_no_module_has_more_empty_names_than_its_limit():
    allowed = limits()
    over = {name: (count, allowed.get(name, 0)) for name, count in counts().items() if count > allowed.get(name, 0)}
    assert not over, (
        f"(empty names, limit) by module; name what the value is, see tests/reference/plain_names.py: {over}"
    )
