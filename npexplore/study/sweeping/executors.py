"""Provides the executor for parallel work: a concurrent.futures.Executor, or one chosen by a word.

None, "threads"       threads of this process; kernels release the interpreter lock
"processes"           processes of this computer; Python code runs in parallel too
"tcp://HOST:PORT"     the workers of a Dask cluster (extra `cluster`)
an Executor           is used and not shut down

A command of npexplore answers points in forked copies of its process where this is safe (`Forked`), because most of a
point's time is Python and threads share one interpreter.
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
SWITCH_S = 5e-4  # a kernel returns about 20 times per point, and each time could wait 5 ms, Python's default
Wanted = Executor | str | None


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pool(executor: Wanted = None, workers: int | None = None) -> AbstractContextManager[Executor]:
    """Return the executor that a word names, with `workers` workers (None: one for each usable core).

    Raises InputError for an unknown word, for `workers` with an executor that has its own, and for a cluster that
    cannot be reached.
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
    """Yield threads of this process; after a kernel, a thread waits at most SWITCH_S for the interpreter."""
    previous_interval_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        with ThreadPoolExecutor(workers) as running:
            yield running
    finally:
        sys.setswitchinterval(previous_interval_s)


class Forked(ProcessPoolExecutor):
    """Forked copies of this process, which have its modules, machines and points; tasks only send point numbers.

    Args:
        inherited: the object that the copies work on; `inherited()` returns it there.
        workers: the number of copies.
    """

    def __init__(self, inherited: object, workers: int) -> None:
        super().__init__(workers, multiprocessing.get_context("fork"), initializer=begin_worker)
        global _inherited
        _inherited = inherited
        with noted() as stop, warnings.catch_warnings():  # an exception of a signal during a fork would be lost
            warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of a fork while other threads run
            self.submit(os.getpid).result()  # forks all workers now, before the executor has threads of its own
        _inherited = None
        if stop.is_set():
            self.shutdown()
            raise KeyboardInterrupt


_inherited: object = None


def inherited() -> Any:
    """Return the object for which this process was forked."""
    return _inherited


def can_fork() -> bool:
    """Return whether workers may be forked: the process belongs to a command, and no other thread computes in it.

    Daemon threads only report progress; their lock is held during a fork (npexplore/progress.py). Arrow's threads do
    not survive a fork: with Arrow loaded, as for the store of a sweep, one exit in 14 was an abort.
    """
    main = threading.main_thread()
    busy = [thread for thread in threading.enumerate() if thread is not main and not thread.daemon]
    alone = threading.current_thread() is main and not busy and multiprocessing.parent_process() is None
    return is_own_process() and alone and sys.platform == "linux" and "pyarrow" not in sys.modules


def slots(executor: Executor) -> int:
    """Return the number of tasks that an executor runs at once; if unknown, the number of usable cores."""
    client = getattr(executor, "_client", None)  # only Dask executors have one
    if client is not None:
        return max(1, sum(int(threads) for threads in client.nthreads().values()))
    return int(getattr(executor, "_max_workers", 0) or usable_cores())


def gone(executor: Executor) -> str | None:
    """Return why an executor can run no more tasks: its cluster is gone or has no workers; None if it can."""
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
    """Raise InputError if objects cannot be sent to the processes of an executor."""
    if not isinstance(executor, ProcessPoolExecutor):
        return
    try:
        pickle.dumps(things)
    except Exception as error:  # objects of a user may raise any error
        raise InputError(f"a design cannot be sent to another process ({error}); use threads") from None


def lost() -> tuple[type[BaseException], ...]:
    """Return the exception types for a task that failed because its worker died or its cluster is gone."""
    errors: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)
    if "distributed" in sys.modules:
        dask: Any = sys.modules["distributed"]
        errors += (dask.KilledWorker, dask.client.FutureCancelledError, dask.comm.CommClosedError)
    return errors


@contextmanager
def _cluster(address: str) -> Generator[Executor, None, None]:
    """Connect to a Dask scheduler and yield its workers as an executor."""
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
            yield client.get_executor(pure=False)  # never reuse results: files may have changed
        finally:
            client.close(timeout=REACHED_WITHIN_S)


def place_of(address: str) -> tuple[str, int]:
    """Return host and port of a cluster's address; raises InputError for any other text."""
    scheme, _, host_and_port = address.partition("://")
    host, _, port = host_and_port.strip("/").rpartition(":")
    if scheme not in ("tcp", "tls") or not host or not port.isdigit():
        raise InputError(f"address of a cluster must be tcp://HOST:PORT (or tls://), got {address!r}")
    return host.strip("[]"), int(port)


def _check_address(address: str) -> None:
    """Raise InputError at once if nothing listens at an address; Dask would retry for a long time."""
    try:
        socket.create_connection(place_of(address), REACHED_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"cluster {address} cannot be reached: {error}") from None


def _check_workers(client: Any, address: str) -> None:
    """Raise InputError for a cluster without workers, or with workers of another npexplore version."""
    from npexplore.study.sweeping.identity import code_version

    try:
        client.wait_for_workers(1, timeout=REACHED_WITHIN_S)
        versions = client.run(code_version)
    except TimeoutError:
        raise InputError(f"cluster {address} has no workers") from None
    except Exception as error:  # any error in a worker, most likely a missing npexplore
        raise InputError(f"cluster {address}: a worker cannot run npexplore: {type(error).__name__}: {error}") from None
    for worker, version in versions.items():
        if version != code_version():
            raise InputError(f"cluster {address}: worker {worker} has npexplore {version}, not {code_version()}")


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Silence a library's log; our own errors report failures."""
    logger = logging.getLogger(name)
    previous_level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(previous_level)
