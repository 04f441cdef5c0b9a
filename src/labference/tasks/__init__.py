"""Task families: each file in this folder that exports `TASKS` is one; the folder is the registry.

What families share is in files whose names begin with an underscore.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

from labference.truth.contract import ContractError, TaskContract
from labference.truth.identity import digest


def all_tasks() -> dict[str, TaskContract[Any, Any]]:
    """Return every built-in task by name."""
    found: dict[str, TaskContract[Any, Any]] = {}
    for module in sorted(entry.name for entry in pkgutil.iter_modules(__path__) if not entry.name.startswith("_")):
        for task in importlib.import_module(f"{__name__}.{module}").TASKS:
            if task.name in found:
                raise ContractError(f"Task name {task.name!r} is used twice; rename the one in {module}.py.")
            found[task.name] = task
    return found


def find_task(name: str) -> TaskContract[Any, Any]:
    """Return the task called `name`, or the one task that `module:TASKS` exports.

    `module:TASKS/task-name` picks one of several.
    """
    if ":" in name:
        return _foreign(name)
    tasks = all_tasks()
    if name not in tasks:
        close = difflib.get_close_matches(name, tasks, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ContractError(f"No task {name!r}.{hint} Tasks: {', '.join(tasks)}.")
    return tasks[name]


def contract_digest(contract: TaskContract[Any, Any]) -> str:
    """Return the sha256 of the task file, of what it shares with others, and of the contract's own values."""
    shared = f"{__name__}._"
    kinds = [kind for kind in type(contract).__mro__ if kind.__module__.startswith(shared)]
    files = [inspect.getfile(kind) for kind in (type(contract), *kinds)]
    sources = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    return digest([*sources, repr(contract)])


def _foreign(name: str) -> TaskContract[Any, Any]:
    path, _, wanted = name.partition("/")
    module, _, attribute = path.partition(":")
    try:
        exported = vars(importlib.import_module(module))[attribute]
    except (ImportError, TypeError, ValueError) as error:
        raise ContractError(f"Cannot import the task module {module!r}: {error}.") from error
    except KeyError:
        raise ContractError(f"Module {module!r} has no {attribute!r}; a task file exports TASKS.") from None
    tasks: dict[str, TaskContract[Any, Any]] = {task.name: task for task in exported}
    if not wanted and len(tasks) == 1:
        wanted = next(iter(tasks))
    if wanted not in tasks:
        raise ContractError(f"Name one task of {path}: {', '.join(f'{path}/{task}' for task in tasks)}.")
    return tasks[wanted]
