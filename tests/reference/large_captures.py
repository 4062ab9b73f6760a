"""Large captures for benchmarks: UDP packets of one size, of 40,000 flows or each a flow of its own."""

import struct

import numpy as np

SIZE = 80
MILLION = 1_000_000
COMMON = (1, 1, 4, 100, 1, 1, 2, 50)  # below which the bytes of source and destination are drawn: 40,000 flows
APART = (256,) * 8


def make_capture(path, count, size=SIZE, bytes_below=COMMON, seed=1):
    """Write UDP packets of one size with right IPv4 checksums, in blocks of 100,000."""
    rng = np.random.default_rng(seed)
    seconds = 1_600_000_000_000_000
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for start in range(0, count, 100_000):
            n = min(100_000, count - start)
            record = np.zeros((n, 16 + size), np.uint8)
            head = record[:, :16].view("<u4")
            micros = seconds + np.arange(start, start + n, dtype=np.int64) * 5
            head[:, 0], head[:, 1], head[:, 2:] = micros // MILLION, micros % MILLION, size
            packet = record[:, 16:]
            packet[:, 12] = 8
            ip = packet[:, 14:34]
            ip[:, 0], ip[:, 3], ip[:, 8], ip[:, 9] = 0x45, size - 14, 64, 17
            ip[:, 12:20] = rng.integers(0, bytes_below, (n, 8))
            words = ip.astype(np.uint32)
            total = (words[:, ::2] * 256 + words[:, 1::2]).sum(axis=1)
            total = 0xFFFF - (total % 0xFFFF)
            ip[:, 10], ip[:, 11] = total >> 8, total & 255
            record.tofile(file)
