"""The reader's kernels equal the plain reference on any file: valid, corrupted, cut anywhere; nothing crashes it."""

import gzip
import io
import struct

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from reference import capture_files as make
from reference import capture_reader as reference
from reference.capture_strategies import broken, erfs, links, packets, pcapngs, pcaps

from npexplore import zstd
from npexplore.errors import InputError
from npexplore.packets import CaptureScan, read_capture
from npexplore.packets.columns import HEADER_COLUMNS, RECORD_COLUMNS

COMPARED = [*RECORD_COLUMNS, *(name for name in HEADER_COLUMNS if name != "protocol")]


def same(data):
    try:
        expected, damage = reference.read(data)
    except reference.UnreadableError:
        try:
            read_capture(io.BytesIO(data))
        except InputError:
            return
        raise AssertionError("an unreadable file was read") from None
    capture = read_capture(io.BytesIO(data))
    assert (capture.damage.offset if capture.damage else None) == damage
    assert len(capture) == len(expected)
    for name in COMPARED:
        assert capture.columns[name].tolist() == [row[name] for row in expected], name
    tags = [(i, *tag) for i, row in enumerate(expected) for tag in row["tags"]]
    table = capture.columns
    assert list(zip(*(getattr(table.tags, name).tolist() for name in ("packet", "kind", "value")), strict=True)) == tags
    sixes = [(i, row["v6"]) for i, row in enumerate(expected) if row["v6"]]
    six = table.ipv6
    found = [s.tobytes() + d.tobytes() for s, d in zip(six.source, six.destination, strict=True)]
    assert list(zip(six.packet.tolist(), found, strict=True)) == sixes
    assert table["flow_label"].tolist() == [row["label"] for row in expected]


@given(pcaps())
def test_pcap_equals_reference(data):
    same(data)


@given(pcapngs())
@example(make.section() + make.interface(resolution=0xA3) + make.enhanced(b"", 2**64 - 1))
@example(make.section() + make.interface(resolution=28) + make.enhanced(b"", 2**64 - 1))
@example(make.section() + make.interface(resolution=0xC1) + make.enhanced(b"", 2**64 - 1))
def test_pcapng_equals_reference(data):
    same(data)


@given(erfs())
def test_erf_equals_reference(data):
    same(data)


@given(broken(st.one_of(pcaps(), pcapngs(), erfs())))
def test_corrupted_equals_reference(data):
    same(data)


@given(st.lists(st.tuples(links, packets), min_size=1, max_size=20))
def test_every_link_type_equals_reference(pairs):
    blocks = [make.section()]
    for number, (link, data) in enumerate(pairs):
        blocks += [make.interface(link=link), make.enhanced(data, number, number)]
    same(b"".join(blocks))


@given(st.one_of(pcaps(), pcapngs(), erfs()), st.integers(0, 1 << 30))
def test_cut_anywhere_gives_the_packets_before(data, cut):
    whole = read_capture(io.BytesIO(data))
    cut = 4 + cut % max(1, len(data) - 4)
    try:
        part = read_capture(io.BytesIO(data[:cut]))
    except InputError:  # without a magic, a format is only known by its first record
        assert whole.format == "erf"
        assert cut < whole.columns["position"][0] + whole.columns["captured"][0] + 20
        return
    assert len(part) <= len(whole)
    for name in COMPARED:
        assert part.columns[name].tolist() == whole.columns[name][: len(part)].tolist()
    assert part.damage is None or part.damage.offset <= cut


@given(st.one_of(pcaps(), pcapngs(), erfs()), st.sampled_from([gzip.compress, zstd.compress]), st.integers(0, 1 << 30))
def test_compressed_equals_plain_and_a_cut_one_is_damaged(data, compress, cut):
    whole = read_capture(io.BytesIO(data))
    packed = compress(data)
    same_capture = read_capture(io.BytesIO(packed))
    assert same_capture.columns["position"].tolist() == whole.columns["position"].tolist()
    assert same_capture.format.startswith(whole.format + "+")
    assert same_capture.damage == whole.damage
    try:
        part = read_capture(io.BytesIO(packed[: 4 + cut % (len(packed) - 4)]))
    except InputError:
        return
    assert part.damage is not None
    assert part.columns["length"].tolist() == whole.columns["length"][: len(part)].tolist()


@given(st.one_of(pcaps(), pcapngs(), erfs()), st.integers(1, 5))
def test_chunks_and_workers_do_not_change_the_result(data, chunk):
    whole = read_capture(io.BytesIO(data))
    for workers in (1, 2):
        parts = list(CaptureScan(io.BytesIO(data), workers=workers, chunk_packets=chunk))
        assert all(part.rows <= chunk for part in parts)
        for name in COMPARED:
            joined = np.concatenate([part[name] for part in parts] or [np.empty(0)])
            assert joined.tolist() == whole.columns[name].tolist()
    passed: dict[str, list] = {name: [] for name in COMPARED}
    for part in CaptureScan(io.BytesIO(data), chunk_packets=chunk, passing=True):
        for name, values in passed.items():
            values += part[name].tolist()
    assert passed == {name: whole.columns[name].tolist() for name in COMPARED}


@given(st.binary(max_size=300))
def test_noise_behind_a_magic(noise):
    erf = make.erf(2, bytes(62), 1 << 32)
    for start in (make.pcap_header(), make.pcap_header(make.NS, ">"), make.section() + make.interface(), erf):
        same(start + noise)
    same(struct.pack("<I", make.US) + noise)
