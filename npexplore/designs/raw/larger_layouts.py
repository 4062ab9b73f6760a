"""Layouts made from others: larger chips with a pipeline for each column of tiles, and streams that cross.

    ports = columns x bands <= 2 x rows      (a packet buffer for each row's two ends)

The paper stops at 4 x 4 tiles and at streams that do not cross (Sec. 4); what is laid out here is checked by the same
rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from npexplore.designs.raw.layouts import (
    CardPins,
    Layout,
    LayoutFile,
    Memory,
    Pipeline,
    Stream,
    Switch,
    check_layout,
    load_layout,
)
from npexplore.errors import ModelError

CROSSED = {1: ("buffer_2", [13, 9, 5, 6, 7]), 2: ("buffer_1", [14, 10, 9, 8, 4])}  # by port: where its payload goes


def crossing_layout(in_turns: bool) -> Layout:
    """Return Version III with the packet buffers of ports 1 and 2 swapped, so that their payloads cross at tile 9.

    in_turns: its switch has a program, one payload of each port in turn (a static switch cannot look who is there);
    else who comes first goes first.
    """
    file = load_layout("v2").file
    home = {buffer: port for port, (buffer, _) in CROSSED.items()}
    streams = [
        msgspec.structs.replace(one, to=CROSSED[one.port][0], routes=[CROSSED[one.port][1]])
        if one.carries == "payload" and one.port in CROSSED else one for one in file.stream
    ]  # fmt: skip
    met = [k for k, one in enumerate(streams) if one.carries == "payload" and one.port in CROSSED]
    return check_layout(msgspec.structs.replace(
        file, name="crossed", title="Version III with two payload streams that cross", stream=streams,
        source="Sec. 4: static networks cannot be made to cross, since all operands must be there",
        memory=[
            msgspec.structs.replace(one, ports=[home[one.name]]) if one.name in home else one for one in file.memory
        ],
        crossings="allowed", switch=[Switch(tile=9, network="static2", turns=met)] if in_turns else [],
    ))  # fmt: skip


def scaled_layout(
    columns: int,
    bands: Sequence[Literal["south", "north"]] = ("south",),
    feed: Literal["static", "dynamic"] = "dynamic",
) -> Layout:
    """Return a layout of Version III.d on `columns` x (4 for each band) tiles: a pipeline for each column of a band.

    The southern band stands on its line cards and, alone, sends north; with two bands the line cards out share the
    pins of those in. Packet buffers are on the western and eastern sides, so that columns <= 2 x rows. feed "static":
    Version III; headers go up their columns on network 1, payloads on network 2 up to a row of their own and to the
    side, the outer columns in the rows nearer to the cards, so that no two cross.
    columns: tiles from west to east. bands: the sides that line cards of each band stand on. feed: the network that
    brings headers to the stages, "static" or "dynamic".
    """
    depth = 4
    rows = depth * len(bands)
    if columns * len(bands) > 2 * rows or list(bands) not in (["south"], ["south", "north"]):
        raise ModelError(
            f"{columns} columns with bands {list(bands)} need {columns * len(bands)} buffers, not {2 * rows}"
        )
    cards: list[CardPins] = []
    pipelines: list[Pipeline] = []
    memories: list[Memory] = []
    streams: list[Stream] = []
    for port in range(columns * len(bands)):
        band, x = bands[port // columns], port % columns
        up = [row * columns + x for row in (range(rows - 1, rows - 1 - depth, -1) if band == "south" else range(depth))]
        cards.append(CardPins(port=port, direction="in", tile=up[0], side=band))
        if len(bands) == 1:
            cards.append(CardPins(port=port, direction="out", tile=up[-1], side="north"))
        else:
            cards.append(CardPins(port=port, direction="out", tile=up[0], side=band))
        pipelines.append(Pipeline(port=port, stages=up))
        west = x < columns // 2
        step = x if west else columns - 1 - x  # rows from the band's cards, columns from the side
        across = [up[step] + k * (-1 if west else 1) for k in range(step + 1)]
        name = f"buffer_{port}"
        memories.append(
            Memory(name=name, use="packets", tile=across[-1], side="west" if west else "east", ports=[port])
        )
        header = [up[: k + 1] for k in range(depth - 1)]
        streams.append(Stream(port=port, network="static1", carries="header", routes=header))
        payload = [up[:step] + across]
        streams.append(Stream(port=port, network="static2", carries="payload", to=name, routes=payload))
    static = feed == "static"
    return check_layout(LayoutFile(
        name=f"{columns}x{rows}", title=f"Version {'III' if static else 'III.d'} on {columns} x {rows} tiles",
        columns=columns, rows=rows, source="Sec. 4: what larger chips would need", line_card=cards, memory=memories,
        pipeline=pipelines, stream=streams if static else [], feed=feed, assumption="pins and tiles of the larger chip",
    ))  # fmt: skip
