"""A click group that imports a command only when it runs: names and help lines are in a table."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from npexplore.errors import UnknownNameError

Table = Mapping[str, tuple[str, str]]  # name -> ("module:attribute", help line)


class LazyGroup(click.Group):
    """A group over a table of commands; entries need an existing module. Hidden commands run but are not listed."""

    def __init__(self, name: str, table: Table, *, hidden: Table | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self.table = {key: entry for key, entry in table.items() if find_spec(entry[0].partition(":")[0])}
        self.hidden_table = hidden or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the listed names in the table's order, then the subgroups."""
        return [*self.table, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None if the name is unknown."""
        entry = self.table.get(cmd_name) or self.hidden_table.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = entry[0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line; raises UnknownNameError, which names the nearest commands."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand:
            raise UnknownNameError("command", args[0], self.list_commands(ctx)) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help page's list from the table, importing nothing."""
        rows = [(name, help_line) for name, (_, help_line) in self.table.items()]
        rows += [(name, command.get_short_help_str(80)) for name, command in self.commands.items()]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
