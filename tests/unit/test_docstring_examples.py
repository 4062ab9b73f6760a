"""Every public function and class of npexplore has an example in its docstring; all examples print what they say."""

import doctest
import inspect
import pickle
import re

import pytest
from reference.public_names import public_packages

import npexplore

PACKAGES = public_packages()
HELD = [name for name in npexplore.__all__ if f"npexplore.{name}" not in PACKAGES]
WITH_EXAMPLE = {
    f"{package}.{name}": getattr(module, name) for package, module in PACKAGES.items() for name in module.__all__
    if callable(getattr(module, name)) and ">>>" in (getattr(module, name).__doc__ or "")
}  # fmt: skip


NOT_PICKLED = {
    "CaptureScan", "Replay",  # read files
    "Machine", "Recorder", "Step", "StepProgram", "Pool",  # hold functions of the example, which no module has
}  # fmt: skip


def examples(text):
    return doctest.DocTestParser().get_examples(text or "")


def run(found, name):
    test = doctest.DocTest(found, {}, name, None, None, None)
    printed = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=printed.append, clear_globs=False)
    assert result.failed == 0, "".join(printed)
    return {key: value for key, value in test.globs.items() if type(value).__module__.startswith("npexplore.")}


@pytest.mark.parametrize("name", HELD)
def test_a_public_name_has_an_example(name):
    item = getattr(npexplore, name)
    found = examples(item.__doc__)
    assert any(example.want for example in found)  # it says what comes out, and
    assert inspect.isclass(item) or any(f"npx.{name}" in example.source for example in found)  # shows this name


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_the_example_of_a_public_name_runs(name):
    for value in run(examples(WITH_EXAMPLE[name].__doc__), name).values():
        if type(value).__name__ not in NOT_PICKLED:
            stored = pickle.loads(pickle.dumps(value))
            assert stored == value or repr(stored).startswith(repr(value)[:20])


def test_help_begins_with_one_screen_of_what_to_call():
    text = npexplore.__doc__
    run(examples(text), "npexplore")
    assert len(text.splitlines()) <= 36
    assert max(map(len, text.splitlines())) <= 111
    called = re.findall(r"\bnpx\.(\w+)", text)
    assert [name for name in called if name not in npexplore.__all__] == []
    assert {name.rpartition(".")[2] for name in PACKAGES if name.count(".") == 1} <= {*called}


MADE_BY_FUNCTIONS = {  # results and parts that no user makes: the functions that return them have examples
    "Answers", "Batch", "CaptureWriter", "Chain", "Composite", "DramRun", "EngineFiles", "Layout", "LayoutFile",
    "LinkRouter", "LiveKernel", "Log", "LoweredProgram", "MachineChain", "Outcome", "Part", "ProgramFiles", "Routed",
    "StepHardware", "Traffic",
}  # fmt: skip


def test_every_public_class_has_an_example():
    without = {
        name
        for package in PACKAGES.values()
        for name in package.__all__
        if isinstance(value := getattr(package, name), type)
        and not issubclass(value, BaseException)
        and not examples(value.__doc__)
    }
    assert without <= MADE_BY_FUNCTIONS
