"""Readers that empty the output maps of a loaded program: ring buffers and perf events.

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
PERF_PAGES = 64  # of a processor's event buffer: enough for the events of one packet
HEAD_AT, TAIL_AT = 1024, 1032  # offsets in struct perf_event_mmap_page


class RingReader:
    """A reader of a ring buffer; file: the map's file descriptor."""

    def __init__(self, file: int) -> None:
        self._consumer = mmap.mmap(file, PAGE_BYTES)
        self._producer = mmap.mmap(file, PAGE_BYTES, prot=mmap.PROT_READ, offset=PAGE_BYTES)

    def empty(self) -> None:
        """Discard all records."""
        self._consumer[:8] = self._producer[:8]

    def close(self) -> None:
        """Unmap the buffer."""
        self._consumer.close()
        self._producer.close()


class PerfReader:
    """A reader of one processor's events; `file` is the map's value for that processor."""

    def __init__(self, cpu: int) -> None:
        attributes = struct.pack("<IIQQQQQIIQ", SOFTWARE, 64, BPF_OUTPUT, 1, SAMPLE_RAW, 0, 0, 1, 0, 0)
        data = ctypes.create_string_buffer(attributes, len(attributes))
        libc = ctypes.CDLL(None, use_errno=True)
        self.file = libc.syscall(_PERF_OPEN[platform.machine()], data, -1, cpu, -1, 8)  # closed on exec
        if self.file < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._pages = mmap.mmap(self.file, (1 + PERF_PAGES) * PAGE_BYTES)

    def empty(self) -> None:
        """Discard all events."""
        self._pages[TAIL_AT : TAIL_AT + 8] = self._pages[HEAD_AT : HEAD_AT + 8]

    def close(self) -> None:
        """Unmap the buffer and close the event."""
        self._pages.close()
        os.close(self.file)
