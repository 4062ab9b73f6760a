"""Readers of what a program in the kernel hands out: they take records of ring buffers and perf events away.

Layout of the shared pages: kernel/bpf/ringbuf.c (consumer's page, producer's page, data), perf_event_open(2).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct

from npexplore.programs.records import PAGE_BYTES

_PERF_OPEN = {"x86_64": 298, "aarch64": 241}
SOFTWARE, BPF_OUTPUT, SAMPLE_RAW = 1, 10, 1 << 10
PERF_PAGES = 64  # of a processor's events, for one packet's at a time
HEAD_AT, TAIL_AT = 1024, 1032  # of struct perf_event_mmap_page


class RingReader:
    """A reader of a ring buffer, by the map's file."""

    def __init__(self, file: int) -> None:
        self._consumer = mmap.mmap(file, PAGE_BYTES)
        self._producer = mmap.mmap(file, PAGE_BYTES, prot=mmap.PROT_READ, offset=PAGE_BYTES)

    def empty(self) -> None:
        """Take all records away."""
        self._consumer[:8] = self._producer[:8]

    def close(self) -> None:
        """Let the buffer go."""
        self._consumer.close()
        self._producer.close()


class PerfReader:
    """A reader of one processor's events; `file` goes into the map at the processor's number."""

    def __init__(self, cpu: int) -> None:
        attributes = struct.pack("<IIQQQQQIIQ", SOFTWARE, 64, BPF_OUTPUT, 1, SAMPLE_RAW, 0, 0, 1, 0, 0)
        data = ctypes.create_string_buffer(attributes, len(attributes))
        libc = ctypes.CDLL(None, use_errno=True)
        self.file = libc.syscall(_PERF_OPEN[platform.machine()], data, -1, cpu, -1, 8)  # closed on exec
        if self.file < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._pages = mmap.mmap(self.file, (1 + PERF_PAGES) * PAGE_BYTES)

    def empty(self) -> None:
        """Take all events away."""
        self._pages[TAIL_AT : TAIL_AT + 8] = self._pages[HEAD_AT : HEAD_AT + 8]

    def close(self) -> None:
        """Let the events go."""
        self._pages.close()
        os.close(self.file)
