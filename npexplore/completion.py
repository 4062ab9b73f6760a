"""Completion in IPython and JupyterLab for words inside quotes and for knobs, which their own completers do not know.

    npx.design("ix<TAB>        designs                     m.with_(thr<TAB>           knobs of the design m
    npx.workload(mix="<TAB>    mixes                       m.with_(scheme="<TAB>      choices of a knob
    npx.grid(m, solver="<TAB>  values of a Literal         npx.grid(m, ban<TAB>       knobs of the design m

The shell's completer calls `matcher` with the text before the cursor. Completion evaluates only names, attributes,
constants, and calls of `design` and `with_`; it never runs other code.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin

OPENERS = {"(": ")", "[": "]", "{": "}"}
DESIGN_ARGUMENTS = ("name_or_path", "design", "of")
PACKET_ARGUMENTS = ("mix", "source", "given", "workload", "load")
FILE_MATCHER = "IPCompleter.file_matcher"


class Call(NamedTuple):
    """The innermost call around the cursor."""

    callee: str  # source of the called function
    arguments: list[str]  # source of its arguments so far; the last one is at the cursor
    quoted: str | None  # the string up to the cursor (None: the cursor is in no string)


def register() -> None:
    """Add `matcher` to the completer of the running IPython shell, if there is one."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    completer: Any = getattr(get_ipython(), "Completer", None)
    matchers: list[Any] | None = getattr(completer, "custom_matchers", None)
    if matchers is not None and not any(getattr(known, "matcher_identifier", "") == IDENTIFIER for known in matchers):

        def complete(context: Any) -> dict[str, Any]:
            return matcher(context, completer.namespace)

        complete.matcher_api_version = 2  # type: ignore[attr-defined]
        complete.matcher_identifier = IDENTIFIER  # type: ignore[attr-defined]
        matchers.append(complete)


IDENTIFIER = "npexplore"


def matcher(context: Any, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the completions for IPython (its matcher API, version 2)."""
    from IPython.core.completer import SimpleCompletion

    lines = context.full_text.split("\n")[: context.cursor_line + 1]
    text = "\n".join([*lines[:-1], lines[-1][: context.cursor_position]])
    typed, words, files_fit = completions(text, namespace)
    items = [SimpleCompletion(name, type="param" if name.endswith("=") else "value") for name in words]
    files = {FILE_MATCHER} if files_fit else set()
    return {"completions": items, "suppress": bool(items), "do_not_suppress": files, "matched_fragment": typed}


def completions(text: str, namespace: Mapping[str, Any]) -> tuple[str, list[str], bool]:
    """Return the typed part of the word at the end of a text, its possible completions, and whether files fit too."""
    call = innermost_call(text)
    if call is None:
        return "", [], True
    try:
        function = evaluated(ast.parse(call.callee, mode="eval").body, namespace)
    except (SyntaxError, ValueError, LookupError, AttributeError):
        return "", [], True
    if not _is_ours(function):
        return "", [], True
    words: Iterable[str]
    files_fit = False
    if call.quoted is not None:
        typed, (words, files_fit) = call.quoted, _values(function, call, namespace)
    else:
        match = re.fullmatch(r"\s*(\w*)", call.arguments[-1])
        typed = match[1] if match else ""
        words = [f"{name}=" for name in _knobs(function, call, namespace)] if match else []
    return typed, [word for word in words if word.startswith(typed)], files_fit


def innermost_call(text: str) -> Call | None:
    """Return the innermost call that is open at the end of a text, None without one."""
    stack: list[tuple[str, int, list[int]]] = []  # opener, its place, where its arguments begin
    quote, quoted_from, k = "", 0, 0
    while k < len(text):
        character = text[k]
        if quote:
            if character == "\\":
                k += 1
            elif text.startswith(quote, k):
                k += len(quote) - 1
                quote = ""
        elif character in "'\"":
            quote = character * 3 if text.startswith(character * 3, k) else character
            k += len(quote) - 1
            quoted_from = k + 1
        elif character == "#":
            k = text.find("\n", k) if "\n" in text[k:] else len(text)
        elif character in OPENERS:
            stack.append((character, k, [k + 1]))
        elif character in OPENERS.values() and stack:
            stack.pop()
        elif character == "," and stack:
            stack[-1][2].append(k + 1)
        k += 1
    while stack and stack[-1][0] != "(":  # a list or mapping in an argument
        stack.pop()
    if not stack:
        return None
    _, place, starts = stack[-1]
    ends = [start - 1 for start in starts[1:]] + [len(text)]
    arguments = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    callee = _expression_before(text[:place])
    return Call(callee, arguments, text[quoted_from:] if quote else None) if callee else None


def _expression_before(text: str) -> str:
    """Return the dotted names, calls and subscripts at the end of a text."""
    k = len(text)
    while k:
        if text[k - 1] in ")]":
            depth = 0
            while k:
                k -= 1
                depth += (text[k] in ")]") - (text[k] in "([")
                if not depth:
                    break
        elif text[k - 1].isalnum() or text[k - 1] in "_.":
            k -= 1
        else:
            break
    return text[k:]


def evaluated(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """Return the value of an expression of names, constants, our objects' attributes, and calls of design and with_.

    Raises ValueError for any other expression.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return namespace[name]
        case ast.Attribute(value=inner, attr=name):
            holder = evaluated(inner, namespace)
            if not (_is_ours(holder) or _is_ours(type(holder))) or isinstance(
                inspect.getattr_static(holder, name, None), property
            ):
                raise ValueError(name)
            return getattr(holder, name)
        case ast.Subscript(value=inner, slice=key):
            holder = evaluated(inner, namespace)
            if type(holder) not in (dict, list, tuple):
                raise ValueError(type(holder))
            return holder[evaluated(key, namespace)]
        case ast.Call(func=inner, args=args, keywords=keywords):
            function = evaluated(inner, namespace)
            if not _is_ours(function) or getattr(function, "__name__", "") not in ("design", "with_"):
                raise ValueError(function)
            named = {word.arg: evaluated(word.value, namespace) for word in keywords if word.arg}
            return function(*(evaluated(arg, namespace) for arg in args), **named)
    raise ValueError(ast.dump(node))


def _is_ours(thing: Any) -> bool:
    """Return whether a module, function or class belongs to this package."""
    name = thing.__name__ if inspect.ismodule(thing) else getattr(thing, "__module__", None)
    return str(name).partition(".")[0] == __name__.partition(".")[0]


def _knobs(function: Callable[..., Any], call: Call, namespace: Mapping[str, Any]) -> list[str]:
    """Return the names of knobs that a call takes as keywords and does not have yet."""
    parameters = inspect.signature(function).parameters
    present = {match[1] for text in call.arguments[:-1] if (match := re.match(r"\s*(\w+)\s*=", text))}
    if getattr(function, "__name__", "") == "with_":
        return [name for name in parameters if name not in present]
    if not any(entry.kind is inspect.Parameter.VAR_KEYWORD for entry in parameters.values()) or len(call.arguments) < 2:
        return []
    design = _design(call.arguments[0], namespace)
    return [] if design is None else [name for name in design.parameters if name not in present]


def _design(source: str, namespace: Mapping[str, Any]) -> Any:
    """Return the design that an argument refers to, by a variable or a listed name; None if there is none."""
    from npexplore.designs import Design, design

    try:
        value = evaluated(ast.parse(source.strip(), mode="eval").body, namespace)
        return value if isinstance(value, Design) else design(value) if isinstance(value, str) else None
    except Exception:  # any error: no completion
        return None


def _values(function: Callable[..., Any], call: Call, namespace: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return the possible words of the quoted argument, and whether it may be a file."""
    parameters = inspect.signature(function).parameters
    name = re.match(r"\s*(\w+)\s*=[^=]", call.arguments[-1])
    by_place = list(parameters)[: len(call.arguments)]
    parameter = name[1] if name else by_place[-1] if len(by_place) == len(call.arguments) else ""
    knob = getattr(function, "knobs", {}).get(parameter)
    if knob is None and parameter not in parameters and len(call.arguments) > 1:
        design = _design(call.arguments[0], namespace)
        knob = None if design is None else design.parameters.file.parameter.get(parameter)
    if knob is not None:
        return [str(choice) for choice in knob.choices], False
    if parameter in DESIGN_ARGUMENTS:
        from npexplore.designs import known_designs

        return known_designs(), True
    if parameter in PACKET_ARGUMENTS:
        from npexplore.machine.mixes import mix_names

        return mix_names(), parameter != "mix"
    annotation = parameters[parameter].annotation if parameter in parameters else ""
    return literals(annotation, getattr(inspect.unwrap(function), "__globals__", {})), False


def literals(annotation: Any, namespace: Mapping[str, Any]) -> list[str]:
    """Return the texts of all Literal types in an annotation (perhaps source text); names are looked up."""
    if not isinstance(annotation, str):
        return [word for word in get_args(annotation) if isinstance(word, str)]
    words: list[str] = []
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            words += [str(constant.value) for constant in ast.walk(node.slice) if isinstance(constant, ast.Constant)]
        elif isinstance(node, ast.Name) and get_origin(alias := namespace.get(node.id)) is Literal:
            words += get_args(alias)
    return words
