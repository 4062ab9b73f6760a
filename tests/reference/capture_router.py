"""A router as a program for the tests of npexplore.testing: ROUTER.toml, --in=PORT=FILE ..., --out=FOLDER.

With --ttl-1 it forwards packets that have one hop left; with --faults it has all of faulty_router.
"""

import sys
from pathlib import Path

from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.router.configuration import load_router
from npexplore.golden.router.forward import Forwarder
from npexplore.packets.frames import read_frames, write_frames

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.faulty_router import FaultyRouter


def main(words):
    """Forward all frames in order of time."""
    wrong = "--ttl-1" in words
    router = Forwarder(load_router(next(word for word in words if word.endswith(".toml"))))
    faulty = FaultyRouter(router.router)
    numbers = {port.name: port.number for port in router.router.ports}
    arrivals = []
    for word in words:
        if word.startswith("--in="):
            name, _, path = word[5:].partition("=")
            arrivals += [(time, numbers[name], frame) for time, frame in read_frames(path)]
    out = {name: [] for name in numbers}
    for time, port, frame in sorted(arrivals):
        if wrong and len(frame) >= 34 and frame[22] == 1:
            frame = frame[:14] + with_checksum(frame[14:22] + b"\x40" + frame[23:])
        rows = faulty(port, frame) if "--faults" in words else router.forward(port, frame, time).sent
        for number, data, *_ in rows:
            out[router.router.ports[number].name].append((time, data))
    folder = Path(next(word[6:] for word in words if word.startswith("--out=")))
    for name, rows in out.items():
        if rows:
            write_frames(folder / f"{name}.pcap", [frame for _, frame in rows], [time for time, _ in rows])


if __name__ == "__main__":
    main(sys.argv[1:])
