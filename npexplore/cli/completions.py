"""Shell completions: designs, mixes, knobs of the design on the command line, words.

They take at most half a second: machine files are read, Python files are parsed, nothing is built or run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from npexplore.errors import NpexploreError

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_design(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the listed designs and the files of the current folder as completions."""
    from npexplore.designs.listed import LISTED

    return [*offered(LISTED, begun), CompletionItem(begun, type="file")]


def complete_mix(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the published mixes as completions."""
    from npexplore.paths import stems

    return offered(stems("models", "mixes"), begun)


def one_of_words(*words: str) -> Completer:
    """Return a completer that offers these words, also after each comma."""

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        head, comma, last = begun.rpartition(",")
        return offered(words, last, head + comma)

    return complete


def complete_knob(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the knobs of the design on the command line, or after `knob=` the knob's choices."""
    # click leaves arguments in `args` if the option at the cursor has no value yet
    chosen = [ctx.params.get("design"), *(ctx.params.get("designs") or ()), *ctx.args]
    choices_by_knob = next((knobs_of(str(design)) for design in chosen if design), {})
    knob, equals, values = begun.partition("=")
    if not equals:
        return [CompletionItem(f"{name}=") for name in choices_by_knob if name.startswith(begun)]
    head, comma, last_value = values.rpartition(",")
    return offered(choices_by_knob.get(knob, ()), last_value, f"{knob}={head}{comma}")


def offered(words: Any, begun: str, head: str = "") -> list[CompletionItem]:
    """Return the words that start with `begun`, each with `head` before it."""
    return [CompletionItem(f"{head}{word}") for word in words if str(word).startswith(begun)]


def knobs_of(name_or_path: str) -> dict[str, Sequence[str | int]]:
    """Return the choices of each knob of a design (none for a number); {} if the design cannot be read."""
    from npexplore.designs.listed import LISTED
    from npexplore.machine.machine_files import load_machine

    path = Path(name_or_path)
    with suppress(NpexploreError, OSError, SyntaxError, ValueError):
        if path.suffix == ".py":
            return _arguments(path)
        if path.suffix == ".toml" or name_or_path in LISTED:
            return {name: parameter.choices for name, parameter in load_machine(name_or_path).parameter.items()}
    return {}


def _arguments(path: Path) -> dict[str, Sequence[str | int]]:
    """Return the arguments of the function `design` of a Python file, with the words of their Literal types."""
    from npexplore.completion import literals

    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.FunctionDef) and node.name == "design":
            return {
                arg.arg: literals(ast.unparse(arg.annotation), {}) if arg.annotation else []
                for arg in (*node.args.args, *node.args.kwonlyargs)
            }
    return {}


class BashWithEquals(BashComplete):
    """Completion for bash, which splits words at `=` and would add a blank after `knob=`."""

    source_template = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"
    )
    head = ""  # beginning of the word, which bash does not replace

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor and the word at the cursor; words split at `=` are joined."""
        words, begun = super().get_completion_args()
        joined: list[str] = []
        for word in (*words, begun):
            if joined and (word == "=" or joined[-1].endswith("=")) and not joined[-1].startswith("-"):
                joined[-1] += word
            else:
                joined.append(word)
        name, equals, _ = joined[-1].partition("=")
        self.head = name + equals if equals and begun != joined[-1] else ""
        return joined[:-1], joined[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """Return an item in the form that bash inserts."""
        return f"{item.type},{item.value.removeprefix(self.head)}"


add_completion_class(BashWithEquals, "bash")
