"""A Dask cluster of separate processes on this computer: a scheduler, and workers of one thread each."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

STARTED_WITHIN_S = 600


class Cluster:
    """address: of the scheduler, as `--cluster` takes it; workers: their processes."""

    def __init__(self, address, workers, scheduler):
        self.address, self.workers, self.scheduler = address, workers, scheduler


@contextmanager
def dask_cluster(folder: Path, workers: int = 2, package: Path | None = None):
    """Start a cluster and end it; each worker runs until it is killed. package: a folder that workers import first."""
    file, processes = folder / "scheduler.json", []
    paths = [str(package) if package else "", os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def start(module, *arguments):
        with open(folder / f"{len(processes)}.log", "wb") as log:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
            processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder))
        return processes[-1]

    try:
        scheduler = start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
        )
        deadline = time.monotonic() + STARTED_WITHIN_S
        while not (file.exists() and file.read_text().strip().endswith("}")):
            assert time.monotonic() < deadline, "the scheduler does not start"
            assert scheduler.poll() is None, (folder / "0.log").read_text()
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]
        yield Cluster(address, [start("dask_worker", address, *options) for _ in range(workers)], scheduler)
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
