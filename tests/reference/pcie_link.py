"""The PCI Express link of models/parts/pcie_link.toml as a Python kind, with the defaults of that file as constants."""

from typing import ClassVar

from npexplore.machine.resources.base import Resource, Server
from npexplore.rows.expressions import ceildiv, maximum, minimum

PAYLOAD, REQUEST, TAGS = 256, 512, 32
FLIGHT_S, ANSWER_S, DRAIN = 100 * 1e-9, 300 * 1e-9, 1 / 25.6e9
RATES = {1: (2.5, 8 / 10), 2: (5, 8 / 10), 3: (8, 128 / 130), 4: (16, 128 / 130), 5: (32, 128 / 130)}  # GT/s, coding
TAKEN = 2 * 8 / 203 + 4 / 1538  # by acknowledgements and flow control, and by clock compensation
ROLES = {"up": "queue", "down": "queue", "far": "queue", "header": "limit", "data": "limit", "tag": "limit"}


class PcieLink(Resource):
    VISITS: ClassVar = {"write": ("bytes",), "read": ("bytes",)}

    def __init__(self, name, generation, lanes, headers=64, credits=1024):
        super().__init__(name)
        self.byte = 8 / (lanes * RATES[generation][0] * 1e9 * RATES[generation][1]) / (1 - TAKEN)
        self.units = {"up": 1, "down": 1, "far": 1, "header": headers, "data": credits, "tag": TAGS}

    def servers(self):
        return [Server(f"{self.name}.{key}", 1, units, role=ROLES[key]) for key, units in self.units.items()]

    def act(self, m, visit, v):
        if visit == "read":
            tags = m.take("tag", units=(requests := m.let(maximum(ceildiv(v.bytes, REQUEST), 1))))
            m.serve("up", requests * (24 * self.byte))
            m.wait(2 * FLIGHT_S + ANSWER_S)
            m.serve("down", (v.bytes + ceildiv(v.bytes, PAYLOAD) * 20) * self.byte)
            m.give(tags)
        else:
            with m.loop(ceildiv(v.bytes, PAYLOAD)) as i:
                piece = m.let(minimum(v.bytes - i * PAYLOAD, PAYLOAD))
                header, data = m.take("header"), m.take("data", units=ceildiv(piece, 16))
                m.serve("up", (piece + 24) * self.byte)
                with m.fork(header, data) as (header, data):
                    m.wait(FLIGHT_S)
                    m.serve("far", piece * DRAIN)
                    m.wait(FLIGHT_S)
                    m.give(data, header)
