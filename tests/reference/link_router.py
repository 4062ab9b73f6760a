"""A router between interfaces: packet sockets (packet(7)) around tests/reference/faulty_router.py.

link_router.py ROUTER.toml [FAULT...]
"""

import select
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.faulty_router import FaultyRouter

from npexplore.golden.router.configuration import load_router
from npexplore.testing.namespaces import drain, open_link

name, *faults = sys.argv[1:]
router = load_router(name)
forward = FaultyRouter(router, faults, wrong=20)  # by the port of the larger MTU, so that all of it leaves
links = [open_link(port.name) for port in router.ports]
while True:
    for handle in select.select(links, [], [])[0]:
        for frame in drain(handle):
            for out, sent in forward(links.index(handle), frame):
                with suppress(OSError):  # longer than the link allows
                    links[out].send(sent)
