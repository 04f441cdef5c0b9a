"""Worker processes of a campaign: they leave Ctrl-C to the parent, and do not outlive it."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import parent_process


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
