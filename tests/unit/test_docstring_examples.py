"""Every public name of the package has an example in its docstring, and the example prints what it says."""

import doctest
import inspect

import pytest

import npexplore

FUNCTIONS = [name for name in npexplore.__all__ if inspect.isfunction(getattr(npexplore, name))]


@pytest.mark.parametrize("name", [*FUNCTIONS, "Span"])
def test_the_example_of_a_public_name_runs(name):
    found = doctest.DocTestParser().get_examples(getattr(npexplore, name).__doc__)
    assert any(f"npx.{name}" in example.source for example in found)  # it shows this name, and
    assert any(example.want for example in found)  # says what comes out
    test = doctest.DocTest(found, {}, name, None, None, None)
    printed = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=printed.append)
    assert result.failed == 0, "".join(printed)
