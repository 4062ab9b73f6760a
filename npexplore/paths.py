"""Where models, data and notebooks are: inside an installed wheel, or beside the package in a checkout."""

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


SAMPLE = "sample:"


def capture(path: str) -> str:
    """Return the path of a capture; `sample:zeek_wikipedia` is one that the package brings. Raises UnknownNameError."""
    if not path.startswith(SAMPLE):
        return path
    files = {file.name.partition(".")[0]: file for file in share("data", "captures").glob("*.pcap*")}
    return str(files[one_of("sample", path.removeprefix(SAMPLE), files)])
