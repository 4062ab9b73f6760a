"""Generated layouts: larger chips with a pipeline for each column of tiles, and a chip with crossing streams.

    ports = columns x bands <= 2 x rows      (a packet buffer at both ends of each row)

The paper has 4 x 4 tiles and streams that do not cross (Sec. 4). The same rules check these layouts.
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

CROSSED = {1: ("buffer_2", [13, 9, 5, 6, 7]), 2: ("buffer_1", [14, 10, 9, 8, 4])}  # port -> its payload's buffer, route


def crossing_layout(in_turns: bool) -> Layout:
    """Return Version III with the packet buffers of ports 1 and 2 swapped, so that their payloads cross at tile 9.

    in_turns: the switch runs a program that passes payloads of both ports alternately, as a static switch must;
    otherwise payloads pass in order of arrival.
    """
    file = load_layout("v2").file
    home = {buffer: port for port, (buffer, _) in CROSSED.items()}
    streams = [
        msgspec.structs.replace(stream, to=CROSSED[stream.port][0], routes=[CROSSED[stream.port][1]])
        if stream.carries == "payload" and stream.port in CROSSED else stream for stream in file.stream
    ]  # fmt: skip
    crossing_streams = [k for k, stream in enumerate(streams) if stream.carries == "payload" and stream.port in CROSSED]
    return check_layout(msgspec.structs.replace(
        file, name="crossed", title="Version III with two payload streams that cross", stream=streams,
        source="Sec. 4: static networks cannot be made to cross, since all operands must be there",
        memory=[
            msgspec.structs.replace(memory, ports=[home[memory.name]]) if memory.name in home else memory
            for memory in file.memory
        ],
        crossings="allowed", switch=[Switch(tile=9, network="static2", turns=crossing_streams)] if in_turns else [],
    ))  # fmt: skip


def scaled_layout(
    columns: int,
    bands: Sequence[Literal["south", "north"]] = ("south",),
    feed: Literal["static", "dynamic"] = "dynamic",
) -> Layout:
    """Return a layout of Version III.d on `columns` x (4 per band) tiles, with a pipeline in each column of a band.

    Line cards are at the band's outer side. With one band, packets leave on the north side; with two, output line cards
    share the pins of input line cards. Packet buffers are on the west and east sides, so that columns <= 2 x rows. With
    feed "static" (Version III), headers go up their columns on network 1, and payloads go on network 2 up to a row of
    their own and then sideways; outer columns use the rows nearer to the cards, so that no two payloads cross.
    columns: tiles from west to east. bands: the side of each band's line cards. feed: the network that
    carries headers to the stages, "static" or "dynamic".
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
        band, column = bands[port // columns], port % columns
        stage_tiles = [
            row * columns + column
            for row in (range(rows - 1, rows - 1 - depth, -1) if band == "south" else range(depth))
        ]
        cards.append(CardPins(port=port, direction="in", tile=stage_tiles[0], side=band))
        if len(bands) == 1:
            cards.append(CardPins(port=port, direction="out", tile=stage_tiles[-1], side="north"))
        else:
            cards.append(CardPins(port=port, direction="out", tile=stage_tiles[0], side=band))
        pipelines.append(Pipeline(port=port, stages=stage_tiles))
        is_west = column < columns // 2
        step = column if is_west else columns - 1 - column  # rows from the band's cards, columns from the side
        across = [stage_tiles[step] + column_step * (-1 if is_west else 1) for column_step in range(step + 1)]
        name = f"buffer_{port}"
        memories.append(
            Memory(name=name, use="packets", tile=across[-1], side="west" if is_west else "east", ports=[port])
        )
        header = [stage_tiles[: k + 1] for k in range(depth - 1)]
        streams.append(Stream(port=port, network="static1", carries="header", routes=header))
        payload = [stage_tiles[:step] + across]
        streams.append(Stream(port=port, network="static2", carries="payload", to=name, routes=payload))
    static = feed == "static"
    return check_layout(LayoutFile(
        name=f"{columns}x{rows}", title=f"Version {'III' if static else 'III.d'} on {columns} x {rows} tiles",
        columns=columns, rows=rows, source="Sec. 4: what larger chips would need", line_card=cards, memory=memories,
        pipeline=pipelines, stream=streams if static else [], feed=feed, assumption="pins and tiles of the larger chip",
    ))  # fmt: skip
