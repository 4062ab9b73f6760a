"""The wheel in a clean environment of each Python that pyproject.toml names, and parts of the README's tour with it.

Run by `make pythons`, with the versions of requirements.lock for all Pythons but that of the suites, and with the
lowest versions that pyproject.toml allows for the oldest. A Python that this machine has not is told in one line.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOUR = {  # the README's commands of this tour: whether they run without compiled kernels, and what makes them short
    "designs": (True, []),
    "trace stats": (False, []),
    "solve": (True, ["--method", "queueing"]),
    "schema": (True, []),
    "new": (True, []),
}


def supported() -> list[str]:
    """Return the versions that pyproject.toml names, as 3.12."""
    text = (ROOT / "pyproject.toml").read_text()
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def interpreter(version: str) -> str | None:
    """Return an interpreter of a version that answers: on the search path, of pyenv, or known to uv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(map(str, root.glob(f"{version}.*/bin/python")))]
    if uv := shutil.which("uv"):
        command = [uv, "python", "find", "--no-python-downloads", version]
        candidates.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())
    asks = "import sys; print('%d.%d' % sys.version_info[:2])"
    for one in filter(None, candidates):
        done = subprocess.run([one, "-c", asks], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return one
    return None


def tour() -> list[tuple[list[str], bool]]:
    """Return the README's commands of this tour, each with whether it runs without compiled kernels."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / "README.md").read_text().splitlines()]
    found = []
    for name, (plain, shorter) in TOUR.items():
        line = next(line for line in lines if f"{line} ".startswith(f"npexplore {name} "))
        found.append(([*shlex.split(line), *shorter], plain))
    return found


def run(words: list[str], folder: Path, **environment: str) -> None:
    """Run a command, or end with what it said."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    done = subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{shlex.join(words)}: {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-3000:]}")


def install(python: str, wheel: Path, pins: Path, folder: Path) -> Path:
    """Return the folder of programs of a new environment that has the wheel."""
    programs = folder / "venv" / "bin"
    run([python, "-m", "venv", "--without-pip", str(folder / "venv")], folder)
    uv, own = shutil.which("uv"), str(programs / "python")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", own, "install", "--no-compile"]
    tool = [uv, "pip", "install", "--python", own] if uv else pip  # five commands need few modules' bytecode
    run([*tool, "--quiet", "--constraint", str(pins), str(wheel)], folder)
    return programs


def floors() -> list[str]:
    """Return the lowest versions of the dependencies that pyproject.toml allows, as pins."""
    lines = (ROOT / "pyproject.toml").read_text().partition("dependencies = [")[2].partition("]")[0]
    return [f"{name}=={version}" for name, version in re.findall(r'"([\w.-]+)>=([\w.]+)', lines)]


def trial(version: str, wheel: Path, pins: Path, folder: Path, commands: list[tuple[list[str], bool]]) -> str:
    """Run the tour with a Python of this version, and return what to say of it; SystemExit if a command fails."""
    python = interpreter(version)
    if python is None:
        return f"Python {version}: not on this machine, left out"
    begin = time.monotonic()
    (folder / "tour").mkdir(parents=True)
    programs = install(python, wheel, pins, folder)
    ready = time.monotonic()
    for (program, *words), plain in commands:
        disabled = {"NUMBA_DISABLE_JIT": "1"} if plain else {}
        run([str(programs / program), *words], folder / "tour", NUMBA_CACHE_DIR=str(folder / "cache"), **disabled)
    spent = f"{ready - begin:.0f} s to install, {time.monotonic() - ready:.0f} s for {len(commands)} commands"
    return f"Python {version}: the wheel's tour runs with {pins.stem} versions ({python}; {spent})"


def main() -> None:
    """Try them all."""
    commands = tour()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", name, str(ROOT)], folder)
        wheel, locked, lowest = next(folder.glob("*.whl")), folder / "locked.txt", folder / "lowest.txt"
        locks = (ROOT / "requirements.lock").read_text()
        locked.write_text("".join(f"{line}\n" for line in re.findall(r"^[\w.-]+==[^\\\n]+", locks, re.MULTILINE)))
        lowest.write_text("".join(f"{line}\n" for line in floors()))
        own = "{}.{}".format(*sys.version_info)
        trials = [(version, locked) for version in supported() if version != own] + [(supported()[0], lowest)]

        def one(of: tuple[str, Path]) -> str:
            version, pins = of
            return trial(version, wheel, pins, folder / f"{version} {pins.stem}", commands)

        with ThreadPoolExecutor(2) as both:  # pip and compilers use one core each
            tried = both.map(one, trials)
            for told in tried:
                print(told, flush=True)


if __name__ == "__main__":
    main()
