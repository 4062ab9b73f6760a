"""DiffServ of a Linux kernel between two links: nftables classifies, polices and marks, a queueing discipline sends.

In by w0, out by w1; what is sent and received bears the kernel's clock (CLOCK_MONOTONIC) from before and from behind.
"""

import os
import select
import socket
import struct
import subprocess
import time

from npexplore.errors import InputError
from npexplore.testing.namespaces import (
    NO_IPV6,
    await_links,
    drain,
    inside,
    make_namespace,
    open_link,
    pair,
    run_batch,
    write_settings,
)

IN_FRAME = bytes(12) + b"\x08\x00"
HOOK = 'table netdev t {\nchain c {\ntype filter hook ingress device "r0" priority 0;\n%s\n}\n}\n'
ON = 'fwd to "r1"'
MTU = 65_535
SNDBUF_FORCE = 32  # SO_SNDBUFFORCE of socket(7)
STAMP = 35  # SO_TIMESTAMPNS of socket(7)


class Pipe:
    """Two namespaces with a link in and a link out; use it in a `with` block. rules: of nftables; discipline: of tc."""

    def __init__(self, rules=(ON,), discipline=()):
        self.rules, self.discipline = rules, discipline

    def __enter__(self):
        self.namespaces = near, far = make_namespace(), make_namespace()
        for namespace in self.namespaces:
            inside(namespace, lambda: write_settings("ipv6", NO_IPV6))
        pairs = [pair(k, f"r{k} mtu {MTU}", f"w{k} mtu {MTU}", far) for k in (0, 1)]
        run_batch(near, [*pairs, "link set r0 up", "link set r1 txqueuelen 100000 up"])
        run_batch(far, ["link set w0 up", "link set w1 up"])
        await_links(self.namespaces, 2)
        self._run(near, ["nft", "-f", "-"], HOOK % "\n".join(self.rules))
        if self.discipline:
            run_batch(near, self.discipline, "tc")
        self.source, self.sink = (inside(far, lambda name=name: open_link(name)) for name in ("w0", "w1"))
        self.source.setsockopt(socket.SOL_SOCKET, SNDBUF_FORCE, 1 << 27)  # what waits is counted as ours
        return self

    def __exit__(self, *_):
        for handle in (self.source, self.sink):
            handle.close()
        for namespace in self.namespaces:
            os.close(namespace)

    @staticmethod
    def _run(namespace, words, text):
        done = inside(namespace, lambda: subprocess.run(words, input=text, text=True, capture_output=True, check=False))
        if done.returncode:
            raise InputError(f"{words[0]}: {done.stderr.strip().splitlines()[0]}")

    def one(self, packet):
        """Send a packet; return when it was judged, at the earliest and at the latest, and what left."""
        before = time.monotonic_ns()
        self.source.send(IN_FRAME + packet)
        frames = self.left(1)
        return before, time.monotonic_ns(), frames[0][14:]

    def left(self, count, patience_s=30.0):
        """Return the next frames that leave, so many."""
        found = []
        while len(found) < count and select.select([self.sink], [], [], patience_s)[0]:
            found += drain(self.sink)
        return found

    def stamp(self):
        """Have the kernel note when each frame leaves, for `left_when`."""
        self.sink.setsockopt(socket.SOL_SOCKET, STAMP, 1)

    def left_when(self, count, patience_s=30.0):
        """Return (when it left at the latest in ns of CLOCK_REALTIME, frame) of the next frames that leave."""
        found = []
        while len(found) < count and select.select([self.sink], [], [], patience_s)[0]:
            frame, ((_, _, stamp),), *_ = self.sink.recvmsg(MTU, 64)
            seconds, ns = struct.unpack("@qq", stamp)
            found.append((seconds * 10**9 + ns, frame))
        return found

    def many(self, packets, at_once=64):
        """Send packets as fast as they go; return what left, in order."""
        found = []
        for start in range(0, len(packets), at_once):
            for packet in packets[start : start + at_once]:
                self.source.send(IN_FRAME + packet)
            found += [frame[14:] for frame in self.left(len(packets[start : start + at_once]))]
        return found


def told(rule):
    """Return a classifier rule as nftables has it; its code point is what it marks."""
    keys = ("ip saddr", "ip daddr", "th sport", "th dport", "ip protocol")
    tops = (2**32 - 1, 2**32 - 1, 65_535, 65_535, 255)
    parts = []
    for key, top, (low, high) in zip(keys, tops, rule.ranges, strict=True):
        if (low, high) != (0, top):
            ends = [".".join(map(str, end.to_bytes(4, "big"))) if "addr" in key else str(end) for end in (low, high)]
            parts.append(f"{key} {ends[0] if low == high else '-'.join(ends)}")
    return " ".join([*parts, f"ip dscp set {rule.dscp}", ON])
