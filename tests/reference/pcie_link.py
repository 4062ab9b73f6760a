"""The PCI Express link of models/parts/pcie_link.toml as a Python kind."""

from typing import ClassVar

from npexplore.machine.resources.base import Resource, Server
from npexplore.rows.expressions import ceildiv, maximum, minimum

FLIGHT_S = 100 * 1e-9


class PcieLink(Resource):
    """A link whose posted writes hold credits until the far side has drained them."""

    VISITS: ClassVar = {"write": ("bytes",), "read": ("bytes",)}

    def __init__(self, name, generation, lanes, payload=256, credits=(64, 1024), request=512, tags=32):
        super().__init__(name)
        gtps, coding = (2.5 * generation, 8 / 10) if generation < 3 else (2**generation, 128 / 130)
        self.byte = 8 / (lanes * gtps * 1e9 * coding)
        self.payload, self.request, self.tags, (self.headers, self.credits) = payload, request, tags, credits

    def servers(self):
        limits = {"header": self.headers, "data": self.credits, "tag": self.tags}
        wires = [Server(f"{self.name}.{wire}") for wire in ("up", "down", "far")]
        return wires + [Server(f"{self.name}.{key}", units=units, role="limit") for key, units in limits.items()]

    def act(self, m, visit, v):
        if visit == "read":
            requests = m.let(maximum(ceildiv(v.bytes, self.request), 1))
            tags = m.take("tag", units=requests)
            m.serve("up", requests * (24 * self.byte))
            m.wait(2 * FLIGHT_S + 300 * 1e-9)
            m.serve("down", (v.bytes + ceildiv(v.bytes, self.payload) * 20) * self.byte)
            m.give(tags)
            return
        with m.loop(ceildiv(v.bytes, self.payload)) as i:
            piece = m.let(minimum(v.bytes - i * self.payload, self.payload))
            header, data = m.take("header"), m.take("data", units=ceildiv(piece, 16))
            m.serve("up", (piece + 24) * self.byte)
            with m.fork(header, data) as (header, data):
                m.wait(FLIGHT_S)
                m.serve("far", piece * (1 / 25.6e9))
                m.wait(FLIGHT_S)
                m.give(data, header)
