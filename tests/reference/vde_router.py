"""The router of the package vde2 between interfaces: vde_l3, and for each port a switch of VDE as a hub, and a plug.

vde_router.py ROUTER.toml

Its stations have the MAC addresses 00:aa and the port's address; the configuration must say so. vde_l3 of 2.3.2 ends
with a segmentation fault where it has three ports and routes; with two it works. Ends when vde_l3 ends.
"""

import select
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from npexplore.golden.ipv4.addresses import address_text, prefix_mask
from npexplore.golden.router.configuration import load_router
from npexplore.testing.namespaces import drain, open_link

PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}


def read(plug):
    """Return the next frame of a plug."""
    size, frame = int.from_bytes(plug.stdout.read(2), "big"), b""
    while len(frame) < size:
        frame += plug.stdout.read(size - len(frame))
    return frame


def main(router):
    """Start all of it and carry frames until vde_l3 ends; return its status."""
    folder, plugs = Path(tempfile.mkdtemp(prefix="vde")), []
    words = ["vde_l3", "-M", folder / "console"]
    switches = []  # they end with their input
    for port in router.ports:
        place = folder / port.name
        switches.append(subprocess.Popen(["vde_switch", "-x", "-s", place], **PIPES))
        while not (place / "ctl").exists():
            time.sleep(0.01)
        plugs.append(subprocess.Popen(["vde_plug", f"vde://{place}"], **PIPES))
        words += ["-v", f"{place}:{address_text(port.address)}/{address_text(prefix_mask(port.length))}"]
    routes = zip(*(c.tolist() for c in (router.routes.value, router.routes.length, router.routes.via)), strict=True)
    for value, length, via in routes:
        if via:
            words += ["-r", f"{address_text(value)}/{address_text(prefix_mask(length))}:{address_text(via)}"]
    running = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    while not (folder / "console").exists() and running.poll() is None:
        time.sleep(0.01)
    time.sleep(2)  # until plugs and vde_l3 are connected, of which nothing tells
    links = [open_link(port.name) for port in router.ports]
    while running.poll() is None:
        for ready in select.select([*links, *(plug.stdout for plug in plugs)], [], [], 0.05)[0]:
            if ready in links:
                for frame in drain(ready):
                    plugs[links.index(ready)].stdin.write(len(frame).to_bytes(2, "big") + frame)
                continue
            number = next(k for k, plug in enumerate(plugs) if plug.stdout is ready)
            with suppress(OSError):  # longer than the link allows
                links[number].send(read(plugs[number]))
    return running.returncode


if __name__ == "__main__":
    sys.exit(main(load_router(sys.argv[1])))
