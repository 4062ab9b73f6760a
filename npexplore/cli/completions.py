"""What a shell is offered when somebody presses TAB: designs, mixes, knobs of the design typed before, words.

Answers come within half a second: machine files are read, Python files are parsed, nothing is built or run.
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
    """Offer a shell the listed designs, and the files of its folder."""
    from npexplore.designs.listed import LISTED

    return [*offered(LISTED, begun), CompletionItem(begun, type="file")]


def complete_mix(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer a shell the published mixes."""
    from npexplore.paths import stems

    return offered(stems("models", "mixes"), begun)


def one_of_words(*words: str) -> Completer:
    """Return a completer that offers these words; behind a comma, once more."""

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        head, comma, last = begun.rpartition(",")
        return offered(words, last, head + comma)

    return complete


def complete_knob(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer a shell the knobs of the design typed before, and behind `knob=` its choices."""
    # click leaves arguments in `args` where the option at the cursor has no value yet
    chosen = [ctx.params.get("design"), *(ctx.params.get("designs") or ()), *ctx.args]
    known = next((knobs_of(str(design)) for design in chosen if design), {})
    knob, equals, values = begun.partition("=")
    if not equals:
        return [CompletionItem(f"{name}=") for name in known if name.startswith(begun)]
    head, comma, last = values.rpartition(",")
    return offered(known.get(knob, ()), last, f"{knob}={head}{comma}")


def offered(words: Any, begun: str, head: str = "") -> list[CompletionItem]:
    """Return the words that begin so, each behind what is typed before them."""
    return [CompletionItem(f"{head}{word}") for word in words if str(word).startswith(begun)]


def knobs_of(name_or_path: str) -> dict[str, Sequence[str | int]]:
    """Return the choices of each knob of a design, none for a number; empty for what cannot be read."""
    from npexplore.designs.listed import LISTED
    from npexplore.machine.machine_files import load_machine

    path = Path(name_or_path)
    with suppress(NpexploreError, OSError, SyntaxError, ValueError):
        if path.suffix == ".py":
            return _arguments(path)
        if path.suffix == ".toml" or name_or_path in LISTED:
            return {name: p.choices for name, p in load_machine(name_or_path).parameter.items()}
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
    """Completion for bash, which breaks the words of a line at `=` and would put a blank behind `knob=`."""

    source_template = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"
    )
    head = ""  # of the word, which bash does not replace

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor and the one at it, those broken at `=` joined again."""
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
        """Return an item as bash inserts it."""
        return f"{item.type},{item.value.removeprefix(self.head)}"


add_completion_class(BashWithEquals, "bash")
