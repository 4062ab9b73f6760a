"""Fuzz the reader of pcap, pcapng and ERF: it equals the plain reference on any bytes; guided by coverage if it can be.

    python captures_target.py SECONDS FOLDER    the folder holds the corpus, and is given new finds

Run with NUMBA_DISABLE_JIT=1, so that the kernels are plain Python: their branches count as coverage, and an index out
of range is an IndexError instead of a wild read. Without atheris, files of the corpus are mutated at random.
"""

import io
import os
import random
import sys
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
LARGEST = 2000

try:
    import atheris
except ImportError:
    atheris = None

if atheris:
    with atheris.instrument_imports(include=["npexplore.packets", "npexplore._kernels"]):
        from npexplore.errors import InputError
        from npexplore.packets import read_capture
else:
    from npexplore.errors import InputError
    from npexplore.packets import read_capture
from reference import capture_reader as reference  # noqa: E402

COLUMNS = (
    "t_ns",
    "length",
    "captured",
    "flags",
    "l3_offset",
    "l4_offset",
    "l3_length",
    "sport",
    "ttl",
    "vlans",
    "labels",
)


def check(data):
    """Raise AssertionError if reader and reference differ on these bytes; compressed ones only must not crash it."""
    if data[:2] == b"\x1f\x8b" or data[1:4] in (b"\xb5\x2f\xfd", b"\x2a\x4d\x18"):
        with suppress(InputError):
            read_capture(io.BytesIO(data))
        return
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
    for name in COLUMNS:
        assert capture.columns[name].tolist() == [row[name] for row in expected], name


def mutate_at_random(seconds, folder):
    rng = random.Random(os.environ.get("NPEXPLORE_FUZZ_SEED", "1"))
    corpus = [path.read_bytes() for path in sorted(folder.iterdir())]
    for data in corpus:
        check(data)
    runs, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        data = bytearray(rng.choice(corpus))
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data) + 1)
            other = rng.choice(corpus)
            noise = rng.randbytes(rng.randint(0, 4))
            piece = rng.choice([noise, other[at : at + 40], b"\xff" * 4, b"\0" * 4, b"\x80\0"])
            data[at : at + rng.choice([0, len(piece), len(piece), 4])] = piece
        data = bytes(data[: rng.choice([len(data), rng.randrange(len(data) + 1)])][:LARGEST])
        try:
            check(data)
        except BaseException:
            print(f"failing input: {data!r}", file=sys.stderr)
            raise
        runs += 1
    print(f"{runs} runs without coverage")


def main():
    seconds, folder = int(sys.argv[1]), Path(sys.argv[2])
    if atheris is None:
        mutate_at_random(seconds, folder)
        return
    options = [f"-max_total_time={seconds}", f"-max_len={LARGEST}", "-rss_limit_mb=2048", "-timeout=20"]
    atheris.Setup([sys.argv[0], str(folder), *options, f"-artifact_prefix={folder}/../crash-"], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
