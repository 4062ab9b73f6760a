"""Where the bytes come from: files, standard input, gzip and zstd; memory follows what arrives, not what is claimed."""

import bz2
import gzip
import io
import sys
import tracemalloc
import zlib
from random import Random

import pytest
from reference import capture_files as make

from npexplore import zstd
from npexplore.errors import InputError
from npexplore.packets import CaptureScan, read_capture
from npexplore.packets.source import Source

PACKET = make.ethernet(make.ipv4(make.udp()), pad=60)
DATA = make.pcap([(n, 0, PACKET, None) for n in range(1000)])


def with_checksum(data):
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_compressed_by_content_whatever_the_name(tmp_path, pack):
    path = tmp_path / "trace.dat"
    path.write_bytes(pack(DATA))
    capture = read_capture(path)
    assert len(capture) == 1000
    assert capture.damage is None


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_several_members_are_one_stream(pack):
    capture = read_capture(io.BytesIO(pack(DATA[:777]) + pack(DATA[777:5000]) + pack(DATA[5000:])))
    assert len(capture) == 1000
    assert capture.damage is None


def test_zeros_behind_gzip_are_padding():
    capture = read_capture(io.BytesIO(gzip.compress(DATA) + bytes(1000)))
    assert len(capture) == 1000
    assert capture.damage is None


def test_skippable_zstd_frame_is_passed_over():
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    assert len(read_capture(io.BytesIO(skippable + zstd.compress(DATA)))) == 1000


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "gzip"), (with_checksum, "zstd")])
def test_cut_or_broken_compression_is_damage(pack, name):
    packed = pack(make.pcap([(0, 0, Random(n).randbytes(1000), None) for n in range(1000)]))
    cut = read_capture(io.BytesIO(packed[: len(packed) * 9 // 10]))
    assert 700 < len(cut) < 920
    assert cut.damage.message == f"the {name} stream ends before its end mark"
    broken = bytearray(packed)
    broken[-4:] = b"\xff" * 4
    damaged = read_capture(io.BytesIO(bytes(broken)))
    assert len(damaged) >= 990
    assert damaged.damage.message.startswith(f"the {name} stream is broken")
    assert read_capture(io.BytesIO(packed)).damage is None


@pytest.mark.parametrize("pack", [gzip.compress, with_checksum])
def test_all_that_was_decompressed_before_damage_is_used(pack):
    random = Random(7)
    data = make.pcap([(n, 0, random.randbytes(random.choice((3, 90))) + bytes(50), None) for n in range(400)])
    packed = pack(data[:9000]) + pack(data[9000:])
    for _ in range(40):
        damaged = bytearray(packed[: random.randrange(len(packed))])
        if random.random() < 0.5:
            damaged = bytearray(packed)
            damaged[random.randrange(100, len(packed))] ^= 1 << random.randrange(8)
        given = b""  # byte by byte, and so all that the decompressor has before it fails
        start = 0
        while start < len(damaged):
            engine = zlib.decompressobj(31) if pack is gzip.compress else zstd.ZstdDecompressor()
            try:
                for start in range(start, len(damaged)):  # noqa: B020
                    given += engine.decompress(bytes(damaged[start : start + 1]))
                    if engine.eof:
                        break
            except (zlib.error, zstd.ZstdError):
                break
            start += 1
        if len(given) >= 24:
            assert len(read_capture(io.BytesIO(bytes(damaged)))) >= len(read_capture(io.BytesIO(given)))


def test_garbage_behind_a_compressed_stream_is_damage():
    capture = read_capture(io.BytesIO(gzip.compress(DATA) + b"garbage"))
    assert len(capture) == 1000
    assert "gzip stream is broken" in capture.damage.message


def test_other_compressions_are_refused_by_what_they_start_with():
    with pytest.raises(InputError, match="starts with 42 5a 68"):
        read_capture(io.BytesIO(bz2.compress(DATA)))


def test_standard_input(monkeypatch):
    class Pipe:
        buffer = io.BytesIO(gzip.compress(DATA))

    monkeypatch.setattr(sys, "stdin", Pipe)
    capture = read_capture("-")
    assert len(capture) == 1000
    assert capture.path == "-"


def test_reads_that_bring_a_few_bytes_at_a_time():
    class Trickle(io.BytesIO):
        def readinto(self, view):
            return super().readinto(memoryview(view)[:7])

        def read(self, size=-1):
            return super().read(min(3, size))

    assert len(read_capture(Trickle(DATA))) == 1000


def peak_bytes(data):
    tracemalloc.start()
    for _ in CaptureScan(io.BytesIO(data)):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_what_was_decompressed_is_not_kept(compress):
    draw = Random(1)  # random bytes stay as long
    short, long = (
        compress(make.pcap([(n, 0, PACKET + draw.randbytes(1000), None) for n in range(packets)]))
        for packets in (500, 8000)
    )
    peak_bytes(short)  # imports
    assert peak_bytes(long) < peak_bytes(short) + 1_000_000 < len(long)


def test_claimed_lengths_take_no_memory():
    start = make.section() + make.interface(link=249) + make.interface(link=1)
    claims = [
        start + make.block(0xBAD, b"")[:4] + (2**32 - 4).to_bytes(4, "little") + bytes(100),
        start + make.enhanced(b"x")[:4] + (2**24).to_bytes(4, "little") + bytes(100),
        make.pcap_header(link=249) + bytes(8) + (2**27).to_bytes(4, "little") * 2 + bytes(100),
        make.pcap_header() + bytes(8) + (2**31).to_bytes(4, "little") * 2 + bytes(100),
    ]
    few = peak_bytes(make.pcap_header())
    for data in claims:
        assert peak_bytes(data) < few + 1_000_000


def test_streamed_memory_does_not_grow_with_the_file():
    assert peak_bytes(DATA[:24] + DATA[24:] * 400) < peak_bytes(DATA[:24] + DATA[24:] * 100) + 1_000_000


def test_a_compressed_bomb_is_passed_in_small_pieces():
    bomb = zstd.compress(make.section() + make.interface() + make.block(0xBAD, bytes(200_000_000)), 3)
    assert len(bomb) < 50_000
    assert peak_bytes(bomb) < 100_000_000


def test_records_across_block_borders():
    data = make.pcap([(n, 0, PACKET[: n % 60], None) for n in range(500)])
    whole = read_capture(io.BytesIO(data)).columns
    for size in (64, 100, 257):
        scan = CaptureScan(io.BytesIO(data))
        scan._source = Source(io.BytesIO(data), block_bytes=size)
        scan._source.need(24)
        scan._source.skip(24)
        got = [value for part in scan for value in part["position"].tolist()]
        assert got == whole["position"].tolist()
