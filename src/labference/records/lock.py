"""Keep a run folder to one process: two would run the same episodes, and each would lose what the other wrote.

The lock is the kernel's (`flock`): it ends with the process, however that ends, so nothing stale is left to clear away.
Where the system has no such locks, folders are not kept.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from labference.truth.identity import PlanError

from .folder import LOCK

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


class Held:
    """A folder that is kept until `release`, or until this is forgotten."""

    def __init__(self, path: Path, file: int | None) -> None:
        self._path, self._file = path, file

    def release(self) -> None:
        """Let others have the folder; do nothing a second time."""
        file, self._file = self._file, None
        if file is None:
            return
        with contextlib.suppress(OSError):  # somebody shares it, or the folder is gone
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._path.unlink()
        os.close(file)

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()


def hold(out: Path, *, name: str = LOCK, shared: bool = False) -> Held:
    """Keep the existing folder `out`, alone or `shared` with others that share it; `name` is the lock's file in it.

    Raises `PlanError` where another holds it, with the number of its process.
    """
    path = out / name
    while fcntl is not None:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(file, 32, 0).decode("ascii", "replace").strip()
            os.close(file)
            who = f"Process {holder}" if holder.isdigit() else "Another process"
            raise PlanError(f"{who} has {out} open; wait until it ends, or choose another --out.") from error
        except OSError:  # a file system without locks
            os.close(file)
            break
        if _is(path, file):
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
            return Held(path, file)
        os.close(file)  # whoever held it has just released it, and the file with it
    return Held(path, None)


@contextlib.contextmanager
def hold_episode(out: Path, index: int) -> Iterator[None]:
    """Keep episode `index` of `out` to this process, beside others that are in other episodes; makes the folder.

    Raises `PlanError` where another is in the same episode, or runs all of them.
    """
    out.mkdir(parents=True, exist_ok=True)
    with hold(out, shared=True), hold(out, name=f"run-{index}.lock"):
        yield


def _is(path: Path, file: int) -> bool:
    """Return whether an open file is still the one at `path`."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False
