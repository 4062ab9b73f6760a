"""Routes of static streams: paths as trees of tiles, their crossings, and checks for deadlock.

crossing   a switch that several paths pass: it moves one message after the other
circle     path p holds switch a and waits for switch b, which path q holds while it waits for ... switch a
turns      a switch's program: one message of each path in a fixed order; it waits for the words of the next path
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, pairwise

from npexplore.errors import ModelError
from npexplore.machine.resources.grid import Grid

Turns = Mapping[int, Sequence[int]]  # by tile, its paths in order
Place = tuple[int, int]  # a path, and a tile whose switch it holds


@dataclass
class Tree:
    """One path: its switches in order from the source, the previous tile of each, and its targets."""

    source: int
    before: dict[int, int | None] = field(default_factory=dict)
    targets: list[int] = field(default_factory=list)

    @property
    def hops(self) -> list[tuple[int, int]]:
        """The directed links between tiles."""
        return [(before, tile) for tile, before in self.before.items() if before is not None]

    def above(self, tile: int) -> list[int]:
        """Return the tiles from a tile back to the source, without the tile itself."""
        before = self.before[tile]
        return [] if before is None else [before, *self.above(before)]

    def depth(self, tile: int) -> int:
        """Return the number of links from the source to a tile."""
        before = self.before[tile]
        return 0 if before is None else 1 + self.depth(before)


def tree_of(grid: Grid, number: int, routes: Sequence[Sequence[int]]) -> Tree:
    """Return a path from its routes, each a list of tiles from the source to a target; raises ModelError."""
    what = f"{grid.name}: path {number}"
    if not routes or not all(len(route) for route in routes):
        raise ModelError(f"{what} needs at least one route of at least one tile, got {routes!r}")
    tree = Tree(grid.check(routes[0][0], f"tile of path {number}"))
    tree.before[tree.source] = None
    for route in routes:
        tiles = [grid.check(tile, f"tile of path {number}") for tile in route]
        if tiles[0] != tree.source:
            raise ModelError(f"{what} has routes from tiles {tree.source} and {tiles[0]}; all start at one tile")
        for before, tile in pairwise(tiles):
            if (before, tile) not in grid.between:
                raise ModelError(f"{what} goes from tile {before} to tile {tile}, which are not neighbours")
            if tree.before.setdefault(tile, before) != before:
                known_before = tree.before[tile]
                raise ModelError(
                    f"{what} comes to tile {tile} from tile {before} and "
                    + ("starts there" if known_before is None else f"from tile {known_before}")
                    + "; a path is a tree"
                )
        if tiles[-1] in tree.targets:
            raise ModelError(f"{what} has two routes to tile {tiles[-1]}")
        tree.targets.append(tiles[-1])
    return tree


def shared(trees: Sequence[Tree]) -> list[int]:
    """Return the tiles of the switches that several paths pass."""
    passed = [tile for tree in trees for tile in tree.before]
    return sorted({tile for tile in passed if passed.count(tile) > 1})


def refuse_crossings(subject: str, trees: Sequence[Tree]) -> None:
    """Raise ModelError for two paths that share a link, a processor's port or a switch."""
    owner: dict[tuple[str, object], int] = {}
    for number, tree in enumerate(trees):
        claims: list[tuple[str, object, str]] = [("link", f"{a}>{b}", "use the link") for a, b in tree.hops]
        claims += [("source", tree.source, "start at tile"), *(("target", t, "end at tile") for t in tree.targets)]
        claims += [("tile", tile, "pass the switch of tile") for tile in tree.before]
        for kind, shared_place, action in claims:
            owner_path = owner.setdefault((kind, shared_place), number)
            if owner_path != number:
                raise ModelError(
                    f"{subject}: paths {owner_path} and {number} both {action} {shared_place}; streams must not cross"
                )


def checked_turns(subject: str, trees: Sequence[Tree], rows: Sequence[Sequence[int]], names: Sequence[str]) -> Turns:
    """Return switch programs by tile from rows (tile, path, path, ...); raises ModelError for a program that stalls.

    A program must name every path through its switch once (else its words never move), and no other path (its words
    never come). Two paths must have the same order in all programs.
    """
    turns: dict[int, Sequence[int]] = {}
    for tile, *order in rows:
        switch = f"{subject}: the switch of tile {tile}"
        for path in order:
            if not 0 <= path < len(trees):
                raise ModelError(f"{switch} waits for path {path}; there are 0..{len(trees) - 1}")
            if tile not in trees[path].before:
                route = " > ".join(str(t) for t in trees[path].before)
                raise ModelError(
                    f"{switch} waits for {names[path]}, whose words never come there: its route is {route}"
                )
        for path, tree in enumerate(trees):
            if tile in tree.before and order.count(path) != 1:
                problem = "never takes up" if path not in order else f"has {order.count(path)} turns for"
                raise ModelError(f"{switch} {problem} {names[path]}, which passes there; a program has every path once")
        if tile in turns or len(order) < 2:
            raise ModelError(f"{switch} needs one program of at least two paths, got {list(rows)}")
        turns[tile] = order
    for (a, first), (b, second) in combinations(turns.items(), 2):
        both = [path for path in first if path in second]
        if both != [path for path in second if path in both]:
            raise ModelError(
                f"{subject}: the switches of tiles {a} and {b} stop {names[both[0]]} and {names[both[1]]} for good: "
                f"their programs have them in different orders"
            )
    return turns


def refuse_circles(subject: str, trees: Sequence[Tree], names: Sequence[str], turns: Turns) -> None:
    """Raise ModelError if messages may wait for each other's switches in a circle; switches in `turns` cannot."""
    crossings = [tile for tile in shared(trees) if tile not in turns]
    holds: dict[Place, list[Place]] = {}
    for path, tree in enumerate(trees):
        on_path = [tile for tile in crossings if tile in tree.before]
        for tile in on_path:
            holds[path, tile] = [
                (other_path, next_tile)
                for next_tile in on_path if next_tile != tile and next_tile not in tree.above(tile)
                for other_path, other_tree in enumerate(trees) if other_path != path and next_tile in other_tree.before
            ]  # fmt: skip
    try:
        TopologicalSorter(holds).prepare()
    except CycleError as error:
        waits = ", ".join(
            f"{names[path]} holds the switch of tile {tile} and waits for that of tile {next_tile}"
            for (path, tile), (_, next_tile) in pairwise(reversed(error.args[1]))
        )
        raise ModelError(f"{subject}: streams deadlock: {waits}") from None
