"""Worker processes of a campaign: they leave Ctrl-C to the parent, and do not outlive it."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import TypeVar

J = TypeVar("J")
R = TypeVar("R")


def spread(job: Callable[[J], R], todo: Sequence[J], workers: int) -> Generator[R]:
    """Return what `job` returns for all that is to do, in that order, from so many processes.

    What is under way when the caller stops is finished, and nothing new is begun; an interrupt meanwhile ends it.
    """
    others = active_children()
    pool = ProcessPoolExecutor(min(workers, len(todo)), mp_context=get_context("spawn"), initializer=begin_worker)
    try:
        waiting = iter(todo)
        ahead = deque(pool.submit(job, entry) for entry in islice(waiting, workers + 1))
        while ahead:
            yield ahead.popleft().result()
            ahead.extend(pool.submit(job, entry) for entry in islice(waiting, 1))
    finally:
        _finish(pool, others)


def _finish(pool: ProcessPoolExecutor, others: list[BaseProcess]) -> None:
    try:
        pool.shutdown(wait=True, cancel_futures=True)
    except KeyboardInterrupt:
        for process in active_children():
            if process not in others:
                process.kill()
        raise


def begin_worker() -> None:
    """Leave Ctrl-C to the parent, which lets what is under way finish; end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    """Wait for the end of the parent: a worker holds both ends of its queue, and would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
