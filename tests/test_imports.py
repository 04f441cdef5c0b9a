"""Who may import whom: the table of the design, kept by reading the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import labevolver
import labference

PACKAGE = Path(labference.__file__).parent
ROOT = PACKAGE.parent

ALLOWED = {
    "wire": (),
    "truth": ("wire",),
    "motion": ("wire",),
    "sight": ("wire",),
    "world": ("wire", "truth"),
    "tasks": ("wire", "truth", "world.parts"),
    "policies": ("wire", "motion", "sight"),
    "serving": ("wire", "policies"),
    "bench": ("wire", "truth", "motion", "policies", "world", "tasks", "records"),
    "bridge": ("wire", "truth.identity", "truth.privilege", "motion", "sight", "policies", "tasks", "bench", "records"),
    "integrations": ("wire", "truth", "tasks", "bench", "records"),
    "records": ("wire", "truth"),
    "score": ("wire", "truth", "tasks", "records"),
    "report": ("score", "records", "wire", "truth"),
}
"""Room -> rooms it may import, itself apart. `cli`, `doctor` and the package itself may import anything."""
FREE = ("cli", "doctor", "__init__", "__main__")
AGENT = ROOT / "labevolver"
AGENT_MAY = ("wire", "motion", "sight")
"""Rooms of labference that labevolver may import; its `experiments` and `cli` may import anything."""
AGENT_FREE = ("experiments", "cli")
PHYSICS = {"world", "motion", "bench"}
"""Rooms that may import MuJoCo."""
PLAIN_DATA = ("wire/panda.py", "wire/labware.py")
"""Files that need nothing but the standard library."""


def imports(path: Path, root: Path) -> list[tuple[int, str]]:
    """Return line and absolute dotted name of everything a file imports, inside functions too.

    `from .a import b` in `labference/x/y.py` yields `labference.x.a.b`.
    """
    package = list(path.relative_to(root).with_suffix("").parts[:-1])
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def offences(path: Path, root: Path) -> list[str]:
    """Return the imports of a file that the table does not allow, one readable line each."""
    parts = path.relative_to(root).with_suffix("").parts
    room = parts[1]
    if room in FREE:
        return []
    bad = []
    for line, name in imports(path, root):
        words = name.split(".")
        inside = ".".join(words[1:])
        foreign = words[0] == "labference" and not any(
            inside == near or inside.startswith(f"{near}.") for near in (room, *ALLOWED[room])
        )
        engine = words[0] == "mujoco" and room not in PHYSICS
        if (foreign and not _version(words)) or engine or words[0] in ("labevolver", "tests"):
            bad.append(f"{path.relative_to(root).as_posix()}:{line} imports {name}")
    return bad


def agent_offences(path: Path, root: Path) -> list[str]:
    """Return the imports of a file of labevolver that open another door of labference than its three, a line each."""
    parts = path.relative_to(root).with_suffix("").parts
    if parts[1] in (*AGENT_FREE, "__main__"):
        return []
    bad = []
    for line, name in imports(path, root):
        words = name.split(".")
        behind = words[0] == "labference" and (len(words) < 2 or words[1] not in AGENT_MAY)
        if behind or words[0] in ("mujoco", "tests"):
            bad.append(f"{path.relative_to(root).as_posix()}:{line} imports {name}")
    return bad


def _version(words: list[str]) -> bool:
    """Return whether only the package itself is imported, for its version."""
    return words == ["labference"]


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_every_room_is_in_the_table() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert rooms - set(FREE) == set(ALLOWED)
    assert modules <= set(FREE)


def test_no_room_imports_what_the_table_does_not_allow() -> None:
    found = [offence for path in files() for offence in offences(path, ROOT)]
    assert not found, "\n" + "\n".join(found)


def test_the_agent_opens_three_doors_of_labference_only() -> None:
    found = [offence for path in sorted(AGENT.rglob("*.py")) for offence in agent_offences(path, ROOT)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("from labference.wire import Goal", False),
        ("import labference.sight.tubes", False),
        ("from labference.truth import measurement", True),
        ("from labference import world", True),
        ("import labference", True),
        ("def f():\n    from labference.bench import oracle", True),
        ("import mujoco", True),
        ("from ..bank import Bank", False),
    ],
)
def test_a_door_that_the_agent_may_not_open_is_reported(tmp_path: Path, source: str, refused: bool) -> None:
    path = tmp_path / "labevolver" / "gate" / "physics.py"
    path.parent.mkdir(parents=True)
    path.write_text(source)
    assert bool(agent_offences(path, tmp_path)) == refused
    free = tmp_path / "labevolver" / "experiments" / "pouring.py"
    free.parent.mkdir()
    free.write_text(source)
    assert not agent_offences(free, tmp_path)


def test_tasks_know_declarations_of_parts_and_no_other_corner_of_the_laboratory() -> None:
    used = {name for path in (PACKAGE / "tasks").glob("*.py") for _, name in imports(path, ROOT)}
    assert not {name for name in used if name.startswith("labference.world.") and ".parts" not in name}


@pytest.mark.parametrize("name", PLAIN_DATA)
def test_catalogue_data_needs_only_the_standard_library(name: str) -> None:
    used = {name.partition(".")[0] for _, name in imports(PACKAGE / name, ROOT)}
    assert used <= sys.stdlib_module_names


def test_public_nouns_need_only_numpy_and_the_standard_library() -> None:
    used = {name.partition(".")[0] for path in (PACKAGE / "wire").glob("*.py") for _, name in imports(path, ROOT)}
    assert used <= sys.stdlib_module_names | {"numpy", "labference"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from labference.truth import measurement", "labference/policies/x.py:2 imports labference.truth.measurement"),
        (
            "from ..truth.measurement import Block",
            "labference/policies/x.py:2 imports labference.truth.measurement.Block",
        ),
        ("from .. import truth", "labference/policies/x.py:2 imports labference.truth"),
        ("import labference.world.world as w", "labference/policies/x.py:2 imports labference.world.world"),
        ("def f():\n    from ..bench import oracle", "labference/policies/x.py:3 imports labference.bench.oracle"),
        ("import mujoco", "labference/policies/x.py:2 imports mujoco"),
        ("from mujoco import mj_step", "labference/policies/x.py:2 imports mujoco.mj_step"),
        ("import labevolver.memory", "labference/policies/x.py:2 imports labevolver.memory"),
    ],
)
def test_a_forbidden_import_is_reported_with_file_line_and_module(tmp_path: Path, source: str, expected: str) -> None:
    path = tmp_path / "labference" / "policies" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(f'"""A policy."""\n{source}\nfrom ..wire import Goal\nfrom .reader import Reader\nimport numpy\n')
    assert offences(path, tmp_path) == [expected]


def test_a_room_whose_name_begins_like_an_allowed_one_is_another_room(tmp_path: Path) -> None:
    path = tmp_path / "labference" / "policies" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text("from labference.wireless import x\n")
    assert offences(path, tmp_path) == ["labference/policies/x.py:1 imports labference.wireless.x"]


@pytest.mark.parametrize(
    "modules",
    [
        "labference.score.summary, labference.score.audit, labference.score.campaign",
        "labference.tasks; labference.tasks.all_tasks()",
        "labference.wire.codec, labference.truth.referee, labference.records.reader",
        "labference.sight, labference.policies, labference.policies.still",
        "labference.report.tables",
        "labference.cli",
        "labference.integrations.gymnasium, labference.integrations.vla_eval, labference.integrations.inspect_robots",
        "labference.integrations.lerobot",
    ],
)
def test_rooms_that_count_and_tell_load_without_the_physics_engine(modules: str) -> None:
    first, _, call = modules.partition("; ")
    program = f"import sys, {first}\n{call}\nassert 'mujoco' not in sys.modules, 'mujoco was imported'"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("command", "heavy"), [("--help", "numpy"), ("tasks", "scipy"), ("tasks ph", "scipy")])
def test_what_only_tells_what_there_is_loads_no_library_of_numbers_for_it(command: str, heavy: str) -> None:
    program = (
        "import sys; from labference.cli import app\n"
        f"try: app({command.split()!r})\nexcept SystemExit as end: assert not end.code\n"
        f"assert {heavy!r} not in sys.modules, '{heavy} was imported'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", ["labference", "labevolver"])
def test_a_package_run_as_a_module_is_its_command(package: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", package, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"python -m {package}" in done.stdout
    wrong = subprocess.run([sys.executable, "-m", package, "no-such"], cwd=tmp_path, capture_output=True, text=True)
    assert wrong.returncode == 2


def test_both_packages_of_the_distribution_tell_one_version() -> None:
    assert labevolver.__version__ == labference.__version__


def test_the_package_itself_loads_nothing_heavy() -> None:
    program = (
        "import sys; before = set(sys.modules); import labference\n"
        "heavy = {'numpy', 'mujoco', 'scipy', 'cv2', 'matplotlib', 'typer', 'av'} & (set(sys.modules) - before)\n"
        "assert not heavy, heavy; assert labference.__version__"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
