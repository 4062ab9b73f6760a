"""Evaluates Python expressions on symbolic values of a graph."""

from __future__ import annotations

import ast
import builtins
import enum
import types
from collections.abc import Mapping, Sequence
from typing import Any

from npexplore.hardware.frames import Frame
from npexplore.hardware.graph import Graph
from npexplore.hardware.operators import Operators
from npexplore.hardware.values import UNBOUND, Blend, Bytes, Choice, Num, RefusedError, Some, known, value_text


class KeptValues:
    """Stands for the context argument in a step's body."""


class Method:
    """A method of a value that is known only in hardware."""

    def __init__(self, of: Any, name: str) -> None:
        self.of, self.name = of, name

    def __repr__(self) -> str:
        return f"the method {self.name!r} of a value"


class Expressions(Operators):
    """Evaluates expressions; `Interpreter` adds statements and function calls."""

    context = KeptValues()

    def __init__(self, graph: Graph, step_state: Mapping[str, Any]) -> None:
        super().__init__(graph)
        self.step_state = dict(step_state)
        self.line, self.depth = "", 0

    def call(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Call a function; `Interpreter` implements this."""
        raise RefusedError(f"{function!r} is called")

    def meet(self, test: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
        """Merge the kept values of two branches: those of `a` if the test is 1, else those of `b`."""
        if a is b:
            return dict(a)
        names = dict.fromkeys([*a, *b])
        return {name: self.values.merge(test, a.get(name, UNBOUND), b.get(name, UNBOUND)) for name in names}

    def is_context(self, value: Any) -> bool:
        """Return whether a value is the context itself."""
        return isinstance(value, KeptValues)

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """Return the value of an expression."""
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is None:
            raise RefusedError(f"hardware has no form for {type(node).__name__.lower()!r}")
        return method(node, frame)

    def _of_constant(self, node: ast.Constant, frame: Frame) -> Any:
        return node.value

    def _of_joinedstr(self, node: ast.JoinedStr, frame: Frame) -> Any:
        parts = [
            self.value(part.value if isinstance(part, ast.FormattedValue) else part, frame) for part in node.values
        ]
        if not known(parts) or any(getattr(part, "format_spec", None) for part in node.values):
            raise RefusedError("text is made of a value known only in hardware, or with a format")
        return "".join(map(str, parts))

    def _of_name(self, node: ast.Name, frame: Frame) -> Any:
        for names in (frame.names, frame.outer, vars(builtins)):
            if node.id in names:
                return self.values.pruned(names[node.id])
        raise RefusedError(f"name {node.id!r} is not known here")

    def _of_tuple(self, node: ast.Tuple, frame: Frame) -> Any:
        out: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                out += [item for _, item in self.known.items(self.value(element.value, frame))]
            else:
                out.append(self.value(element, frame))
        return tuple(out)

    def _of_list(self, node: ast.List, frame: Frame) -> Any:
        return self._of_tuple(node, frame)  # type: ignore[arg-type]

    def _of_set(self, node: ast.Set, frame: Frame) -> Any:
        return self._of_tuple(node, frame)  # type: ignore[arg-type]

    def _of_attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        return self.attribute(self.value(node.value, frame), node.attr)

    def attribute(self, of: Any, name: str) -> Any:
        """Return an attribute: a value that a step keeps, an attribute of a value, or a method."""
        if self.is_context(of):
            if self.step_state.get(name, UNBOUND) is UNBOUND:
                raise RefusedError(f"{name!r} is used, but no earlier step has kept it")
            return self.values.pruned(self.step_state[name])
        if isinstance(of, Choice):
            bound_entries = tuple(entry for entry in of.entries if entry[1] is not None)
            if any(callable(getattr(alternative, name, None)) for _, alternative in bound_entries):
                return Method(Choice(bound_entries), name)
            return self.values.spread(Choice(bound_entries), lambda alternative: self.attribute(alternative, name))
        if isinstance(of, Blend):
            if name in of.parts:
                if of.parts[name] is UNBOUND:
                    raise RefusedError(f"text {name!r} of {of.kind.__name__} is known only in hardware")
                return of.parts[name]
            member = getattr(of.kind, name)
            if isinstance(member, property):
                return self.call(member.fget, [of], {})
            return types.MethodType(member, of) if isinstance(member, types.FunctionType) else member
        if isinstance(of, (Num, Bytes)):
            return Method(of, name)
        if isinstance(of, tuple) and not known(of) and isinstance(getattr(type(of), name, None), property):
            return self.call(getattr(type(of), name).fget, [of], {})
        return getattr(of, name)

    def _of_call(self, node: ast.Call, frame: Frame) -> Any:
        function = self.value(node.func, frame)
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments += [item for _, item in self.known.items(self.value(argument.value, frame))]
            else:
                arguments.append(self.value(argument, frame))
        named = {str(keyword.arg): self.value(keyword.value, frame) for keyword in node.keywords}
        return self.call(function, arguments, named)

    def call_other(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Call anything but a Python function: a class, a method of a value, or a built-in function."""
        if isinstance(function, Method):
            return self._method(function, arguments, named)
        if isinstance(function, type) and issubclass(function, enum.Enum):
            return arguments[0]  # in hardware, enum members are plain numbers
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            return function(*arguments, **named)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, Mapping) and function.__name__ == "get":
            return self._looked_up(owner, arguments[0], arguments[1] if len(arguments) > 1 else None)
        if function == int.from_bytes:
            return self._number_of(*arguments, **named)
        if function in self.known.of:
            return self.known.of[function](*arguments, **named)
        raise RefusedError(f"{getattr(function, '__name__', function)!r} is called with a value known only in hardware")

    def _method(self, method: Method, arguments: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(method.of, Choice):
            return self.values.spread(
                method.of, lambda alternative: self.call(self.attribute(alternative, method.name), arguments, named)
            )
        if method.name == "to_bytes" and isinstance(method.of, Num):
            return self._bytes_of(method.of, arguments[0])
        raise RefusedError(f"{method.name!r} of {value_text(method.of)}")

    def _of_subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        of = self.value(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            ends = [None if end is None else self.value(end, frame) for end in (node.slice.lower, node.slice.upper)]
            return self.values.spread(of, lambda alternative: self._cut(alternative, *ends))
        return self.entry(of, self.value(node.slice, frame))

    def _of_binop(self, node: ast.BinOp, frame: Frame) -> Any:
        return self.operate(type(node.op), self.value(node.left, frame), self.value(node.right, frame))

    def _of_unaryop(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.value(node.operand, frame)
        if isinstance(node.op, ast.Not):
            return self.values.binary("xor", self.values.truth(value), 1) if not known(value) else not value
        if isinstance(node.op, ast.USub):
            return self.operate(ast.Sub, 0, value)
        if isinstance(node.op, ast.Invert):
            return self.operate(ast.Sub, -1, value)
        return value

    def _of_boolop(self, node: ast.BoolOp, frame: Frame) -> Any:
        is_and, mark, state_before = isinstance(node.op, ast.And), self.graph.mark(), self.step_state
        sides: list[tuple[Any, Any]] = []
        for operand in node.values:
            value = self.value(operand, frame)
            test = self.values.truth(value)
            sides.append((test, value))
            if isinstance(test, Num):
                self.graph.assume(test.at, is_and)
            elif bool(test) is not is_and:
                break
        self.graph.undo(mark)
        if any(value is not state_before.get(name) for name, value in self.step_state.items()):
            raise RefusedError("a value is kept inside 'and' or 'or'")
        out = sides[-1][1]
        for test, value in reversed(sides[:-1]):
            branches = (out, value) if is_and else (value, out)
            out = self.values.merge(self.values.node(test), *branches)
        return out

    def _of_ifexp(self, node: ast.IfExp, frame: Frame) -> Any:
        test = self.values.truth(self.value(node.test, frame))
        if isinstance(test, int):
            return self.value(node.body if test else node.orelse, frame)
        results, states, state_before = [], [], self.step_state
        for truth, branch in ((True, node.body), (False, node.orelse)):
            mark = self.graph.mark()
            self.graph.assume(test.at, truth)
            self.step_state = state_before
            results.append(self.value(branch, frame))
            states.append(self.step_state)
            self.graph.undo(mark)
        self.step_state = self.meet(test.at, *states)
        return self.values.merge(test.at, *results)

    def _of_compare(self, node: ast.Compare, frame: Frame) -> Any:
        left, tests = self.value(node.left, frame), []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, frame)
            tests.append(self.compare(type(op), left, right))
            left = right
        return self.values.every(tests) if len(tests) > 1 else tests[0]

    def _of_generatorexp(self, node: ast.GeneratorExp, frame: Frame) -> Any:
        return self._listed(node.generators, node.elt, frame)

    def _of_listcomp(self, node: ast.ListComp, frame: Frame) -> Any:
        return self._listed(node.generators, node.elt, frame)

    _of_setcomp = _of_listcomp

    def _listed(self, generators: Sequence[ast.comprehension], item: ast.expr, frame: Frame) -> Any:
        items: list[tuple[int, Any]] = []
        self._turn(generators, item, frame.copy(), self.graph.const(1), items)
        if all(self.graph.constant(when) == 1 for when, _ in items):
            return [item for _, item in items]
        return Some(tuple(items))

    def _turn(
        self, left: Sequence[ast.comprehension], item: ast.expr, frame: Frame, sure: int, items: list[tuple[int, Any]]
    ) -> None:
        if not left:
            items.append((sure, self.value(item, frame)))
            return
        for when, element in self.known.items(self.value(left[0].iter, frame)):
            mark = self.graph.mark()
            self.store(left[0].target, element, frame)
            condition = self.graph.binary("and", sure, when)
            self.graph.assume(condition, True)
            for test in left[0].ifs:
                passed = self.values.node(self.values.truth(self.value(test, frame)))
                condition = self.graph.binary("and", condition, passed)
                self.graph.assume(passed, True)
            if self.graph.constant(condition) != 0:
                self._turn(left[1:], item, frame, condition, items)
            self.graph.undo(mark)

    def store(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Assign a value to a target; `Interpreter` implements this."""
        raise RefusedError("a name is assigned inside an expression")
