"""Headless Chromium for tests that look at pages as a reader does."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=8000",
)


def screenshot(
    page: Path, folder: Path, *, width: int = 1200, height: int = 900, drawn: Callable[[np.ndarray], bool]
) -> np.ndarray:
    """Return the page as it looks, an array of height x width x 3 bytes; skips where there is no Chromium.

    drawn: says of a picture that figures are on it; on a busy machine it may be taken too early, and is taken anew.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs chromium")
    picture = folder / "page.png"
    command = [program, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}"]
    for _ in range(5):
        subprocess.run(
            [*command, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True, timeout=600
        )
        with Image.open(picture) as image:
            seen = np.asarray(image.convert("RGB"))
        if drawn(seen):
            break
    return seen


def share_of_colour(picture: np.ndarray, colour: str, *, tolerance: int = 40) -> float:
    """Return the share of pixels within `tolerance` of a colour (#rrggbb) in every channel."""
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return float((np.abs(picture.astype(int) - wanted).max(axis=2) <= tolerance).mean())
