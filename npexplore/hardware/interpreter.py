"""Runs Python functions on symbolic values: it executes both branches of a test and merges their results.

A test with a known value selects a branch. Any other test runs both branches, each with the fact that the test was
passed or failed, and the results are merged. A function that returns in one branch continues for the other. The work
therefore grows with the length of the text, not with the number of paths. Code that hardware cannot implement raises
RefusedError with its line.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from npexplore.hardware.expressions import Expressions
from npexplore.hardware.frames import Frame
from npexplore.hardware.sources import names_of, tree_of
from npexplore.hardware.values import UNBOUND, Bytes, Choice, Num, RefusedError, known

MOST_ROUNDS = 16  # iterations of a loop that a test ends
MOST_CALLS = 40  # depth of nested calls


class Interpreter(Expressions):
    """Runs functions over one graph; `step_state` holds the context of the running step.

    on_return: called with the value at each return of the outermost function, while the facts of that path hold.
    """

    on_return: Callable[[Any], None] | None = None

    def run(self, function: Any, *arguments: Any) -> Any:
        """Run a function and return its result; raises RefusedError with file and line."""
        self.line, self.depth = "", 0
        try:
            return self.call(function, list(arguments), {})
        except RefusedError as error:
            raise RefusedError(f"{self.line}: {error}" if self.line else str(error)) from None
        except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
            raise RefusedError(f"{self.line}: {type(error).__name__}: {error}") from error

    def invoke(self, function: types.FunctionType, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Run a function of Python on values."""
        tree = tree_of(function.__code__)
        if self.depth > MOST_CALLS:
            raise RefusedError(f"a loop without bound: {function.__name__!r} calls itself")
        frame = Frame(names_of(function), function.__code__.co_filename)
        frame.names = self._bound(function, tree.args, arguments, named)
        mark, line, state_before = self.graph.mark(), self.line, self.step_state
        self.depth += 1
        try:
            if isinstance(tree, ast.Lambda):
                self._returns(self.value(tree.body, frame), frame)
            else:
                self.block(tree.body, frame)
                if not frame.over:
                    self._returns(None, frame)
        except (IndexError, KeyError, AttributeError):  # an impossible alternative of a choice
            self.step_state = state_before
            raise
        finally:
            self.depth -= 1
        self.line = line
        self.graph.undo(mark)
        return self._joined(frame.returns)

    def _joined(self, returns: Sequence[tuple[int, Any, dict[str, Any]]]) -> Any:
        """Merge the results of a function's returns, and the kept values at each of them."""
        if not returns:
            return UNBOUND
        _, out, self.step_state = returns[-1]
        for test, value, state in reversed(returns[:-1]):
            out = self.values.merge(test, value, out)
            self.step_state = self.meet(test, state, self.step_state)
        return out

    @staticmethod
    def _bound(
        function: types.FunctionType, wanted: ast.arguments, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> dict[str, Any]:
        order = [parameter.arg for parameter in (*wanted.posonlyargs, *wanted.args)]
        names = dict(zip(reversed(order), reversed(function.__defaults__ or ()), strict=False))
        names |= function.__kwdefaults__ or {}
        names |= dict(zip(order, arguments, strict=False)) | dict(named)
        if wanted.vararg is not None:
            names[wanted.vararg.arg] = tuple(arguments[len(order) :])
        return names

    def block(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Run statements until the function has returned on all paths."""
        for statement in statements:
            if frame.over:
                return
            self.line = place(frame.file, statement.lineno)
            method = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if method is None:
                raise RefusedError(f"hardware has no form for {type(statement).__name__.lower()!r}")
            method(statement, frame)

    def _do_return(self, statement: ast.Return, frame: Frame) -> None:
        value = None if statement.value is None else self.value(statement.value, frame)
        self._returns(value, frame)
        frame.over = True

    def _returns(self, value: Any, frame: Frame) -> None:
        frame.returns.append((self.graph.const(1), value, dict(self.step_state)))
        if self.depth == 1 and self.on_return is not None:
            self.on_return(value)

    def _do_expr(self, statement: ast.Expr, frame: Frame) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.value(statement.value, frame)

    def _do_pass(self, statement: ast.Pass, frame: Frame) -> None:
        """Do nothing."""

    def _do_assert(self, statement: ast.Assert, frame: Frame) -> None:
        """Do nothing: assertions serve type checkers only."""

    def _do_raise(self, statement: ast.Raise, frame: Frame) -> None:
        """End the path: it is impossible in a correct program."""
        frame.over = True

    def _do_assign(self, statement: ast.Assign, frame: Frame) -> None:
        value = self.value(statement.value, frame)
        for target in statement.targets:
            self.store(target, value, frame)

    def _do_annassign(self, statement: ast.AnnAssign, frame: Frame) -> None:
        if statement.value is not None:
            self.store(statement.target, self.value(statement.value, frame), frame)

    def _do_augassign(self, statement: ast.AugAssign, frame: Frame) -> None:
        before = ast.copy_location(_loading(statement.target), statement)
        joined = ast.copy_location(ast.BinOp(before, statement.op, statement.value), statement)
        self.store(statement.target, self.value(joined, frame), frame)

    def store(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Assign a value to a name, to several names, to an entry of bytes, or to a value that the step keeps."""
        if isinstance(target, ast.Starred):
            target = target.value
        if isinstance(target, ast.Name):
            frame.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element, part in zip(target.elts, _parts(value, target.elts), strict=True):
                self.store(element, part, frame)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self._put(target.value.id, self.value(target.slice, frame), value, frame)
        elif isinstance(target, ast.Attribute) and self.is_context(self.value(target.value, frame)):
            self.step_state = {**self.step_state, target.attr: value}
        else:
            raise RefusedError("a step may only change what it keeps and its own variables")

    def _put(self, name: str, at: Any, value: Any, frame: Frame) -> None:
        """Assign to a name a copy of its bytes with one byte replaced; no other name shares these bytes."""
        old = frame.names.get(name)
        octets = Bytes(tuple(old), len(old), len(old)) if isinstance(old, bytearray) else old
        if not isinstance(octets, Bytes) or not isinstance(at, int) or not 0 <= at < len(octets.data):
            raise RefusedError("a step may only change what it keeps and its own variables")
        data = (*octets.data[:at], value, *octets.data[at + 1 :])
        frame.names[name] = Bytes(data, octets.count, octets.length, octets.tail)

    def _do_if(self, statement: ast.If, frame: Frame) -> None:
        test = self.values.truth(self.value(statement.test, frame))
        if isinstance(test, int):
            self.block(statement.body if test else statement.orelse, frame)
            return
        state_before, sides = self.step_state, []
        for truth, statements in ((True, statement.body), (False, statement.orelse)):
            mark, side = self.graph.mark(), frame.copy()
            self.step_state = state_before
            self.graph.assume(test.at, truth)
            self.block(statements, side)
            self.graph.undo(mark)
            sides.append((side, self.step_state))
        (yes, yes_state), (no, no_state) = sides
        for condition, side in ((test.at, yes), (self.graph.invert(test.at), no)):
            frame.returns += [(self.graph.binary("and", condition, when), *rest) for when, *rest in side.returns]
        if yes.over or no.over:
            frame.over = yes.over and no.over
            frame.names, self.step_state = (no.names, no_state) if yes.over else (yes.names, yes_state)
            self.graph.assume(test.at, no.over)  # only the branch that has not returned continues
            return
        for name in dict.fromkeys([*yes.names, *no.names]):
            pair = yes.names.get(name, UNBOUND), no.names.get(name, UNBOUND)
            frame.names[name] = self.values.merge(test.at, *pair)
        self.step_state = self.meet(test.at, yes_state, no_state)

    def _do_for(self, statement: ast.For, frame: Frame) -> None:
        for when, item in self.known.items(self.value(statement.iter, frame)):
            if frame.over:
                return
            if self.graph.constant(when) == 1:
                self.store(statement.target, item, frame)
                self.block(statement.body, frame)
            elif self.graph.constant(when) != 0:
                self._guarded(when, item, statement, frame)
        self.block(statement.orelse, frame)

    def _guarded(self, when: int, item: Any, statement: ast.For, frame: Frame) -> None:
        name = " item"  # not a valid Python name
        frame.names[name], frame.names[" when"] = item, Num(when)
        test = ast.copy_location(ast.Name(" when", ast.Load()), statement)
        assignment = ast.copy_location(ast.Assign([statement.target], ast.Name(name, ast.Load())), statement)
        self._do_if(ast.copy_location(ast.If(test, [assignment, *statement.body], []), statement), frame)

    def _do_while(self, statement: ast.While, frame: Frame) -> None:
        for _ in range(MOST_ROUNDS):
            if self.values.truth(self.value(statement.test, frame)) == 0 or frame.over:
                return
            guarded_body = ast.copy_location(ast.If(statement.test, statement.body, []), statement)
            self._do_if(guarded_body, frame)
        self.line = place(frame.file, statement.lineno)
        raise RefusedError(f"a loop without bound: its test may still hold after {MOST_ROUNDS} rounds")

    def call(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Call anything: a native function, a class, a method, or a Python function."""
        if isinstance(function, partial):
            return self.call(function.func, [*function.args, *arguments], {**function.keywords, **named})
        if self._native(function, arguments, named):
            return function(*arguments, **named)
        if isinstance(function, types.MethodType):
            if function.__name__ == "_replace" and isinstance(function.__self__, tuple):
                return function(*arguments, **named)  # only copies values
            return self.call(function.__func__, [function.__self__, *arguments], named)
        if isinstance(function, types.FunctionType):
            for k, argument in enumerate(arguments):
                if isinstance(argument, Choice) and (
                    _each(argument, _of_known_length) or _each(argument, _is_plain_tuple)
                ):
                    call_with = partial(self._with, function, arguments, named, k)
                    return self.values.spread(argument, call_with)
            return self.invoke(function, arguments, named)
        return self.call_other(function, arguments, named)

    def _with(self, function: Any, arguments: list[Any], named: dict[str, Any], at: int, one: Any) -> Any:
        """Call a function with argument `at` replaced by one of its alternatives; each has its own length."""
        return self.call(function, [*arguments[:at], one, *arguments[at + 1 :]], named)

    def _native(self, function: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
        """Return whether Python itself can call: all arguments are known, and none is the context."""
        inner = getattr(function, "__self__", None)
        all_known = known(list(arguments)) and known(list(named.values())) and known(inner)
        return callable(function) and all_known and not any(map(self.is_context, (*arguments, inner)))


def _each(value: Choice, what: Callable[[Any], bool]) -> bool:
    return all(what(alternative) for _, alternative in value.entries)


def _is_plain_tuple(value: Any) -> bool:
    return type(value) is tuple


def _parts(value: Any, targets: Sequence[ast.expr]) -> list[Any]:
    """Return the part for each target of an unpacking, one possibly starred; raises RefusedError if they do not fit."""
    starred = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
    fixed = len(targets) - len(starred)
    fits = isinstance(value, (tuple, list)) and (len(value) >= fixed if starred else len(value) == fixed)
    if not fits and value == ():
        raise IndexError("nothing is taken apart")  # an impossible alternative of a choice
    if not fits:
        raise RefusedError("a value is unpacked into more or fewer names than it has parts")
    if not starred:
        return list(value)
    k, starred_count = starred[0], len(value) - fixed
    return [*value[:k], tuple(value[k : k + starred_count]), *value[k + starred_count :]]


def _of_known_length(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, Bytes) and isinstance(value.length, int))


def place(file: str, line: int) -> str:
    """Return a line as FOLDER/FILE:LINE."""
    return f"{'/'.join(Path(file).parts[-2:])}:{line}"


def _loading(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    raise RefusedError("a step may only change what it keeps and its own variables")
