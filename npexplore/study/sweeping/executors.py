"""The executor for everything that runs in parallel: a concurrent.futures.Executor, or a word that names one.

None, "threads"       threads of this process; kernels hold no interpreter lock
"processes"           processes of this computer; also what is plain Python runs side by side
"tcp://HOST:PORT"     the workers of a Dask cluster (extra `cluster`)
an Executor           is used, and left running

A command of npexplore answers points in copies of its process where that is safe (`Forked`): threads share one
interpreter, and most of a point's time is Python.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import socket
import sys
import threading
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

from npexplore.errors import InputError, one_of
from npexplore.signals import begin_worker, is_own_process, noted

KINDS = ("threads", "processes")
REACHED_WITHIN_S = 10
SWITCH_S = 5e-4  # a kernel returns some twenty times a point, and would wait up to 5 ms for the other threads
Wanted = Executor | str | None


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pool(executor: Wanted = None, workers: int | None = None) -> AbstractContextManager[Executor]:
    """Return the executor that a word names, with so many workers (default: one for each usable core).

    Raises InputError for an unknown word, for `workers` beside an executor that has its own, and if a cluster cannot be
    reached.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    remote = isinstance(executor, str) and "://" in executor
    if workers is not None and (remote or not isinstance(executor, str | None)):
        raise InputError("give an executor or a number of workers, not both")
    if isinstance(executor, str) and remote:
        return _cluster(executor)
    if isinstance(executor, str):
        one_of("executor", executor, KINDS)
    elif executor is not None:
        return nullcontext(executor)
    if executor == "processes":
        return ProcessPoolExecutor(
            workers or usable_cores(), multiprocessing.get_context("spawn"), initializer=begin_worker
        )
    return _threads(workers or usable_cores())


@contextmanager
def _threads(workers: int) -> Iterator[Executor]:
    """Give threads of this process; one back from a kernel waits for the interpreter no longer than SWITCH_S."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        with ThreadPoolExecutor(workers) as running:
            yield running
    finally:
        sys.setswitchinterval(before)


class Forked(ProcessPoolExecutor):
    """Copies of this process: they have its modules, machines and points at once; only numbers of points are sent.

    Args:
        inherited: what the copies work on, returned there by `inherited()`.
        workers: how many copies.
    """

    def __init__(self, inherited: object, workers: int) -> None:
        super().__init__(workers, multiprocessing.get_context("fork"), initializer=begin_worker)
        global _inherited
        _inherited = inherited
        with noted() as stop, warnings.catch_warnings():  # what a signal raises amid a fork would be lost
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside any other thread
            self.submit(os.getpid).result()  # forks all workers now, before the executor has threads of its own
        _inherited = None
        if stop.is_set():
            self.shutdown()
            raise KeyboardInterrupt


_inherited: object = None


def inherited() -> Any:
    """Return what this process was forked for."""
    return _inherited


def can_fork() -> bool:
    """Whether workers may be copies of this process: it is a command's own, and no other thread computes in it.

    Threads that only report progress are daemons; their lock is held during a fork (npexplore/progress.py). Threads of
    Arrow do not survive one: where it is loaded, as for the store of a sweep, one exit in 14 was an abort.
    """
    main = threading.main_thread()
    busy = [thread for thread in threading.enumerate() if thread is not main and not thread.daemon]
    alone = threading.current_thread() is main and not busy and multiprocessing.parent_process() is None
    return is_own_process() and alone and sys.platform == "linux" and "pyarrow" not in sys.modules


def slots(executor: Executor) -> int:
    """Return how many tasks an executor runs at once; the number of usable cores if it does not say."""
    client = getattr(executor, "_client", None)  # of Dask's
    if client is not None:
        return max(1, sum(int(threads) for threads in client.nthreads().values()))
    return int(getattr(executor, "_max_workers", 0) or usable_cores())


def gone(executor: Executor) -> str | None:
    """Return why an executor can answer no more: its cluster is off or has no workers; None if it can."""
    client = getattr(executor, "_client", None)
    if client is None:
        return None
    if client.status != "running":
        return "the cluster's scheduler is gone"
    try:
        return None if client.nthreads() else "the cluster has no workers left"
    except (OSError, TimeoutError):
        return "the cluster's scheduler is gone"


def check_sendable(executor: Executor, things: Any) -> None:
    """Raise InputError if things cannot be sent to the processes of an executor."""
    if not isinstance(executor, ProcessPoolExecutor):
        return
    try:
        pickle.dumps(things)
    except Exception as error:  # whatever a user's own objects raise
        raise InputError(f"a design cannot be sent to another process ({error}); use threads") from None


def lost() -> tuple[type[BaseException], ...]:
    """Return the errors of a task that did not fail by itself: its worker died, or its cluster is gone."""
    errors: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)
    if "distributed" in sys.modules:
        dask: Any = sys.modules["distributed"]
        errors += (dask.KilledWorker, dask.client.FutureCancelledError, dask.comm.CommClosedError)
    return errors


@contextmanager
def _cluster(address: str) -> Generator[Executor, None, None]:
    """Connect to a Dask scheduler and give its workers as an executor."""
    try:
        dask: Any = import_module("distributed")
    except ModuleNotFoundError as error:
        raise InputError(f"a cluster needs {error.name}: install npexplore with its extra `cluster`") from None
    _check_address(address)
    with _quiet("distributed"):
        try:
            client = dask.Client(address, timeout=REACHED_WITHIN_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"cluster {address} cannot be reached: {str(error) or type(error).__name__}") from None
        try:
            _check_workers(client, address)
            yield client.get_executor(pure=False)  # a file may have changed since it was read for somebody else
        finally:
            client.close(timeout=REACHED_WITHIN_S)


def place_of(address: str) -> tuple[str, int]:
    """Return host and port of a cluster's address; raises InputError if it is none."""
    scheme, _, place = address.partition("://")
    host, _, port = place.strip("/").rpartition(":")
    if scheme not in ("tcp", "tls") or not host or not port.isdigit():
        raise InputError(f"address of a cluster must be tcp://HOST:PORT (or tls://), got {address!r}")
    return host.strip("[]"), int(port)


def _check_address(address: str) -> None:
    """Raise InputError if nobody listens at an address: at once, where Dask would try for long."""
    try:
        socket.create_connection(place_of(address), REACHED_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"cluster {address} cannot be reached: {error}") from None


def _check_workers(client: Any, address: str) -> None:
    """Raise InputError for a cluster without workers, or with another npexplore than here."""
    from npexplore.study.sweeping.identity import code_version

    try:
        client.wait_for_workers(1, timeout=REACHED_WITHIN_S)
        theirs = client.run(code_version)
    except TimeoutError:
        raise InputError(f"cluster {address} has no workers") from None
    except Exception as error:  # whatever it was there: no npexplore, most likely
        raise InputError(f"cluster {address}: a worker cannot run npexplore: {type(error).__name__}: {error}") from None
    for worker, version in theirs.items():
        if version != code_version():
            raise InputError(f"cluster {address}: worker {worker} has npexplore {version}, not {code_version()}")


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep a library's log to itself: what goes wrong is told by our own errors."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
