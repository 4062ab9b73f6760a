"""Checks compiled kernels on disk, for `npexplore doctor`; damaged ones are removed and compiled again when called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from time import time

from npexplore.findings import BROKEN, GOOD, REPAIRED, Finding
from npexplore.jit import files

MAX_AGE_DAYS = 30  # older entries of other versions, and older partial entries, are removed


def check(_places: Sequence[Path], repair: bool) -> list[Finding]:
    """Return a finding for each folder with compiled kernels, and one if new kernels cannot be stored."""
    findings = [_check_folder(folder, repair) for folder in files.readable() if os.path.isdir(folder)]
    if not any(map(files.can_write, files.writable())):
        note = (
            "no folder can be written, so each process compiles what is not kept; set NUMBA_CACHE_DIR to one that can"
        )
        shipped = any(finding.subject == str(files.SHIPPED) for finding in findings)
        return [*findings, Finding("compiled kernels", GOOD if shipped else BROKEN, note)]
    return findings or [Finding("compiled kernels", GOOD, "none yet; each is compiled when it is first called")]


def _check_folder(folder: Path, repair: bool) -> Finding:
    """Check all entries of a folder; remove damaged and outdated ones."""
    sources = {files.source_digest(str(path)) for path in files.KERNELS.glob("*.py")}
    outdated, damaged, good, foreign = [], [], 0, 0
    for path in sorted([*folder.glob(f"*{files.SUFFIX}"), *folder.glob("*.part")]):
        try:
            old = time() - path.stat().st_mtime > 86400 * MAX_AGE_DAYS
            content = path.read_bytes()
            fault = files.fault_of(content) if path.suffix == files.SUFFIX else None
        except OSError as error:
            old, content, fault = False, b"", str(error.strerror or error)
        is_foreign = path.suffix == files.SUFFIX and not fault and files.source_of(content) not in sources
        if fault:
            damaged.append((path, fault))
        elif old and (is_foreign or path.suffix != files.SUFFIX):
            outdated.append(path)
        elif path.suffix == files.SUFFIX:
            good, foreign = good + 1, foreign + is_foreign
    removed = [path for path in [*(path for path, _ in damaged), *outdated] if repair and _removed(path)]
    note = f"{good} compiled kernels" + (f", {foreign} of them of other versions" if foreign else "")
    still_damaged = [f"{path.name}: {fault}" for path, fault in damaged if path not in removed]
    if still_damaged:
        return Finding(str(folder), BROKEN, f"{note}; {len(still_damaged)} damaged ({'; '.join(still_damaged[:3])})")
    if removed:
        actions = f"removed: {len(damaged)} damaged, {len(outdated)} old"
        return Finding(str(folder), REPAIRED, f"{note}; {actions}")
    return Finding(str(folder), GOOD, note)


def _removed(path: Path) -> bool:
    """Remove a file or an empty folder; return whether that worked."""
    try:
        path.rmdir() if path.is_dir() else path.unlink()
    except OSError:
        return False
    return True
