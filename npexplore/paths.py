"""Finds models, data and notebooks: inside an installed wheel, or beside the package in a checkout."""

import csv
from pathlib import Path

from npexplore.errors import InputError, one_of

PACKAGE = Path(__file__).resolve().parent


def share(*parts: str) -> Path:
    """Return the path of a shared file or folder, for example `share("models", "machines")`.

    Raises InputError if neither the wheel's `_share` folder nor the checkout has it.
    """
    for root in (PACKAGE / "_share", PACKAGE.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise InputError(f"shared file {'/'.join(parts)!r} is missing from this installation")


def bundled_path(name: str) -> Path:
    """Return the path of a file or folder of npexplore: machines, parts, mixes, captures, measurements.

    Args:
        name: the path below the installation's `models`, `data` or `notebooks`, with `/` between folders.

    Raises:
        UnknownNameError: there is no such file; names the nearest ones in its folder.

    Example:
        >>> import npexplore as npx
        >>> npx.bundled_path("models/machines/smartnic.toml").name
        'smartnic.toml'
    """
    *folders, last = name.split("/")
    for depth in range(len(folders) + 1):  # find the first missing part of the path, with the names beside it
        top_names = [share(part) for part in ("data", "models", "notebooks")]
        siblings = sorted(share(*folders[:depth]).iterdir()) if depth else top_names
        one_of(f"{name}: file or folder", [*folders, last][depth], [path.name for path in siblings])
    return share(*folders, last)


MAX_INPUT_BYTES = 1 << 26


def content(path: Path, limit: int = MAX_INPUT_BYTES) -> bytes:
    """Return the bytes of an input file; raises InputError beyond the limit (a device may be endless), OSError."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"{path}: has more than {limit} bytes, the most that are read of such a file")
    return data


def input_content(path: str | Path) -> bytes:
    """Return the bytes of an input file; raises InputError naming it if it is too large or unreadable."""
    try:
        return content(Path(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def table_rows(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV table by column names, without lines that begin with # (sources)."""
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def stems(*folders: str) -> list[str]:
    """Return the names of the TOML files in a shared folder, without suffix."""
    return sorted(path.stem for path in share(*folders).glob("*.toml"))


def named_file(kind: str, path: str | Path, *folders: str) -> Path:
    """Return a file by its path, or by its name without `.toml` in a shared folder; raises UnknownNameError."""
    file = Path(path)
    if file.suffix == ".toml" or file.is_file():
        return file
    return share(*folders) / f"{one_of(kind, str(path), stems(*folders))}.toml"


def text_content(path: Path) -> str:
    """Return the text of an input file; raises as `content` and `plain_text` do."""
    return plain_text(content(path), path.name)


def plain_text(data: bytes, name: str) -> str:
    """Return the text of an input file in UTF-8, with or without a byte-order mark; raises InputError with the line."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else f"byte 0x{data[error.start]:02x}"
        raise InputError(f"{name}:{line}: must be text in UTF-8, got {got}") from None


SAMPLE = "sample:"


def capture(path: str) -> str:
    """Return the path of a capture; `sample:NAME` is a capture of the package. Raises UnknownNameError."""
    if not path.startswith(SAMPLE):
        return path
    files = {file.name.partition(".")[0]: file for file in share("data", "captures").glob("*.pcap*")}
    return str(files[one_of("sample", path.removeprefix(SAMPLE), files)])
