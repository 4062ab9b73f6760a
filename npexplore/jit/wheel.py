"""Platform wheels: a pure wheel of the package with compiled kernels and the tags of this Python and system.

The format is that of PEP 427: a zip archive with WHEEL (its tags) and RECORD (a hash of every file).
"""

import base64
import hashlib
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from npexplore.errors import InputError
from npexplore.jit.files import KERNELS

INSIDE = "npexplore/_kernels"  # folder of the kernels in the archive


def add_kernels(pure: Path, entries: Iterable[Path]) -> Path:
    """Write the platform wheel beside a pure one and return its path.

    Raises InputError if the wheel's kernels differ from those of this installation, whose compiled code would not be
    used.
    """
    name, version, *_ = pure.stem.split("-")
    systems = _systems()
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform_wheel = pure.with_name(f"{name}-{version}-{python}-{python}-{'.'.join(systems)}.whl")
    if not zipfile.is_zipfile(pure):
        raise InputError(f"{pure} is no wheel")
    with zipfile.ZipFile(pure) as old:
        sources = {name.split("/")[-1]: old.read(name) for name in old.namelist() if name.startswith(f"{INSIDE}/")}
        if sources != {path.name: path.read_bytes() for path in KERNELS.glob("*.py")}:
            raise InputError(f"{pure} holds other kernels than this installation ({KERNELS}); install this wheel first")
        records = []
        with zipfile.ZipFile(platform_wheel, "w", zipfile.ZIP_DEFLATED) as new:

            def add(member: zipfile.ZipInfo, content: bytes) -> None:
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                records.append(f"{member.filename},sha256={digest},{len(content)}\n")
                new.writestr(member, content, zipfile.ZIP_DEFLATED)

            for member in old.infolist():
                if member.filename.endswith(".dist-info/RECORD"):
                    record = member
                elif member.filename.endswith(".dist-info/WHEEL"):
                    tags = "".join(f"Tag: {python}-{python}-{system}\n" for system in systems)
                    record_lines = [line for line in old.read(member).decode().splitlines(True) if line.strip()]
                    lines = [line for line in record_lines if not line.startswith(("Root-Is-Purelib", "Tag"))]
                    add(member, f"{''.join(lines)}Root-Is-Purelib: false\n{tags}".encode())
                else:
                    add(member, old.read(member))
            for entry in sorted(entries):
                add(zipfile.ZipInfo(f"{INSIDE}/compiled/{entry.name}", record.date_time), entry.read_bytes())
            new.writestr(record, f"{''.join(records)}{record.filename},,\n", zipfile.ZIP_DEFLATED)
    return platform_wheel


def _systems() -> list[str]:
    """Return the platform tags for which compiled kernels work: those of llvmlite's own wheel."""
    lines = (distribution("llvmlite").read_text("WHEEL") or "").splitlines()
    return sorted({line.rpartition("-")[2] for line in lines if line.startswith("Tag:")})
