"""Texts are read by many threads at once, also when a garbage collection lets others run between two nodes."""

import ast
import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from npexplore import syntax
from npexplore.errors import InputError
from npexplore.ledger.identities import evaluate

LINES = "if a:\n" + "".join(f"    x{i} = (a + {i}) * f(b, c=[{i}, {i}])\n" for i in range(100))


def _yielding(phase, info):
    time.sleep(0)


@pytest.fixture
def eager_collector():
    """Collect every few objects, and hand the interpreter to another thread each time."""
    before = gc.get_threshold()
    gc.callbacks.append(_yielding)
    gc.set_threshold(20)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(_yielding)


@pytest.mark.usefixtures("eager_collector")
def test_threads_read_texts_side_by_side():
    texts = [f"{LINES}# {number}" for number in range(24)]
    with ThreadPoolExecutor(4) as threads:
        for read in threads.map(syntax.statements, texts):
            assert ast.dump(read[0]) == ast.dump(syntax.statements(LINES)[0])


def test_a_text_that_is_no_expression_is_refused_each_time():
    for _ in range(2):
        with pytest.raises(SyntaxError):
            syntax.expression("1 +")
        with pytest.raises(InputError, match="must be arithmetic"):
            evaluate("1 +", {})
    assert ast.unparse(syntax.expression(" 1+2 ")) == "1 + 2"
