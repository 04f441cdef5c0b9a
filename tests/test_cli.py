"""What a user types, and what comes back: one sentence and an exit code, never a stack."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fabricated import MISSING, Made, registration, write_diagnosis
from labference.cli import app
from labference.policies import BUILT_IN
from labference.records.folder import runs_below
from labference.records.reader import read_run
from labference.tasks import all_tasks
from labference.tasks._wet import MEASURE, RETURN_PROBE, RINSE_PROBE, STIR, TAKE_PROBE, TARE, WEIGH
from labference.truth.draw import draw
from labference.wire.wetlab import KINDS, USES

cli = CliRunner()


def invoke(*arguments: object) -> Result:
    done = cli.invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def sentence(done: Result) -> str:
    """Return what a refused request printed: one sentence, wherever the terminal broke it."""
    text = " ".join(done.output.split())
    assert text.count("Traceback") == 0
    assert text.endswith((".", "Class.")), text
    return text


def test_tasks_lists_every_task_with_its_summary() -> None:
    done = invoke("tasks")
    assert done.exit_code == 0
    for name, task in all_tasks().items():
        assert name in done.output
        assert task.summary.split()[0] in done.output


def test_tasks_lists_the_registered_instances_with_their_sizes() -> None:
    done = invoke("tasks")
    for task in all_tasks().values():
        for name, members in task.lists().items():
            assert f"{name} ({len(members)})" in done.output


def test_a_task_is_shown_with_its_goal_and_the_labels_of_its_instances() -> None:
    done = invoke("tasks", "recall-extended")
    assert done.exit_code == 0
    task = all_tasks()["recall-extended"]
    for word in ("retrieve", "online_once", "equivariance", "A1-moved", "red-half-turn", str(len(task.strata()))):
        assert word in done.output
    assert invoke("tasks", "recal-extended").exit_code == 2


def test_a_wet_task_is_shown_with_all_that_a_system_can_ask_the_bench_for() -> None:
    contract = all_tasks()["ph-ec"]
    goal = contract.goal(draw(contract, 0, 0)[0])
    shown = [" ".join(line.split()) for line in invoke("tasks", "ph-ec").output.splitlines()]
    for setting in goal.parameters:
        number = f"{setting.name} {setting.low:g} to {setting.high:g} {setting.unit} ({setting.default:g})"
        assert any(number in line for line in shown), number
    for operation in (TARE, WEIGH, STIR, TAKE_PROBE, RETURN_PROBE, MEASURE, RINSE_PROBE):
        line = f"{operation.kind} {operation.item}, {operation.place}"
        assert any(entry.startswith(line) for entry in shown), f"{line}: the words of legal sets"
    assert set(USES) == set(KINDS)
    for fidelity in contract.fidelities:
        assert any(f"--fidelity {fidelity}" in line for line in shown)
    assert "Perform(" not in invoke("tasks", "weighing-basic").output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ph", "--policy", "reader", "--fidelity", "fast"), r"The reader weighs.*; for ph, expert, .*secant.* would"),
        (("weighing-basic", "--policy", "secant"), r"'secant' needs to pour; .*, expert, reader, .* would work\.$"),
        (
            ("ph", "--policy", "random", "--fidelity", "fast"),
            r"'random' needs a camera 'labels'; here is none; for ph,",
        ),
        (("weighing-basic", "--policy", "reader", "--fidelity", "fast"), r"--fidelity physics would work\.$"),
        (("ph", "--policy", "secant", "--fidelity", "quick"), r"--fidelity fast or --fidelity physics would work\.$"),
        (("ph", "--policy", "secant", "--instances", "targets:ph7"), r"instances: ph5, ph6, ph9\.$"),
        (
            ("ph", "--policy", "lab_policies:OddCamera", "--fidelity", "fast"),
            r"fast laboratory has no camera 'keyhole'; ",
        ),
    ],
)
def test_what_does_not_fit_a_task_is_refused_with_what_would(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = invoke("run", *arguments, "--episodes", 1, "--in-process", "--out", tmp_path / "o")
    assert done.exit_code == 2
    assert re.search(said, sentence(done)), done.output
    assert not list(tmp_path.rglob("episode-*"))


def test_help_names_every_built_in_policy() -> None:
    done = invoke("run", "--help")
    for name in ("expert", *BUILT_IN):
        assert name in done.output
    assert "runs/TASK-LIST/POLICY" in done.output, "what stands in brackets would be read as markup"


@pytest.mark.parametrize(
    ("instances", "said"),
    [("destinations", "registered lists: destination,"), ("destination:12", "instances: 0, 1,")],
)
def test_instances_that_are_not_registered_are_refused_with_those_that_are(
    tmp_path: Path, instances: str, said: str
) -> None:
    done = invoke(
        "run", "centrifuge-basic", "--policy", "still", "--instances", instances, "--out", tmp_path / "o"
    )  # fmt: skip
    assert done.exit_code == 2
    assert said in sentence(done)
    assert not (tmp_path / "o").exists()


def test_a_list_is_run_as_a_whole_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    common = ("run", "centrifuge-basic", "--policy", "still", "--budget", 1)
    assert invoke(*common, "--instances", "destination").exit_code == 0
    assert invoke(*common, "--instances", "recovery:3-raised").exit_code == 0
    assert invoke(*common, "--instances", "destination", "--episodes", 2).exit_code == 0, "fewer than there are"
    assert invoke(*common, "--episodes", 1).exit_code == 0
    sizes = {path.parent.name: len(list(path.glob("episode-*"))) for path in Path("runs").glob("*/still")}
    assert sizes == {
        "centrifuge-basic": 1,
        "centrifuge-basic-destination": 12,
        "centrifuge-basic-recovery-3-raised": 1,
    }
    runs = [read_run(run) for run in runs_below(Path("runs/centrifuge-basic-destination/still"))]
    assert [run.run["instance"]["kind"]["slot"] for run in runs] == list(range(12))
    refused = invoke(*common, "--episodes", 1, "--out", "runs/centrifuge-basic-destination/still")
    assert refused.exit_code == 2
    assert "instances 'destination'" in sentence(refused)


def test_a_mistyped_task_is_answered_with_a_suggestion(tmp_path: Path) -> None:
    done = invoke("run", "weighing-basik", "--policy", "expert", "--out", tmp_path / "o")
    assert done.exit_code == 2
    assert "Did you mean 'weighing-basic'?" in sentence(done)
    assert not (tmp_path / "o").exists(), "nothing is left that would stop the right command"


def test_a_mistyped_policy_is_answered_with_a_suggestion(tmp_path: Path) -> None:
    done = invoke("run", "weighing-basic", "--policy", "expret", "--out", tmp_path / "o")
    assert done.exit_code == 2
    assert "Did you mean 'expert'?" in sentence(done)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("no_such_module_here:Robot", "no_such_module_here"),
        ("labference.policies.still:Robot", "Robot"),
        (":Robot", "Empty module name"),
        ("lab_policies:HERE", "HERE"),
    ],
)
def test_a_policy_that_cannot_be_loaded_says_why(tmp_path: Path, policy: str, said: str) -> None:
    done = invoke("run", "weighing-basic", "--policy", policy, "--episodes", 1, "--out", tmp_path / "o")
    assert done.exit_code == 2
    assert said in sentence(done)


@pytest.mark.parametrize(
    ("options", "works"),
    [
        (("--action", "joints"), "joint"),
        (("--render", "slow"), "fast"),
        (("--video", "keyhole"), "front"),
        (("--episodes", "0"), "1 or more"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(
    tmp_path: Path, options: tuple[str, str], works: str
) -> None:
    done = invoke("run", "weighing-basic", "--policy", "still", "--episodes", 1, "--out", tmp_path / "o", *options)
    assert done.exit_code == 2
    assert works in done.output
    assert "Traceback" not in done.output


def test_numbers_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for option, value in (("--seed", "-1"), ("--workers", "0"), ("--episodes", "many")):
        done = invoke("run", "weighing-basic", "--policy", "still", "--out", tmp_path / "o", option, value)
        assert done.exit_code == 2, option
        assert option in done.output


def test_a_file_where_a_folder_is_wanted_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    done = invoke("run", "weighing-basic", "--policy", "still", "--episodes", 1, "--out", file)
    assert done.exit_code == 2
    assert str(file) in done.output and "Traceback" not in done.output


@pytest.mark.parametrize("command", ["score", "audit", "report"])
@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_folder_without_a_run_is_answered_with_one_sentence(tmp_path: Path, command: str, name: str) -> None:
    if command == "report":
        pytest.importorskip("labference.report.page")
    (tmp_path / "empty").mkdir()
    done = invoke(command, tmp_path / name)
    assert done.exit_code == 2
    assert "labference run" in sentence(done)


def test_running_scoring_and_auditing_speak_of_the_same_episodes(tmp_path: Path) -> None:
    out = tmp_path / "o"
    done = invoke("run", "weighing-basic", "--policy", "expert", "--episodes", 2, "--out", out)
    assert done.exit_code == 0, done.output
    assert "2/2" in done.output and str(out) in "".join(done.output.split())
    again = invoke("run", "weighing-basic", "--policy", "expert", "--episodes", 2, "--out", out)
    assert again.exit_code == 0 and not list(out.rglob("attempt-2"))
    scored = invoke("score", out)
    assert scored.exit_code == 0
    assert "B_next" in scored.output and "C_id" in scored.output and "100 %" in scored.output
    audited = invoke("audit", out)
    assert audited.exit_code == 0
    assert audited.output.count("identical") == 2


def test_a_folder_that_holds_another_campaign_is_refused_by_the_field_that_differs(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text(
        '{"condition":{"task":"weighing-basic","policy":"expert","seed":5,"action":"joint","render":"fast","video":[],'
        '"policy_seed":0,"budget":null,"faults":[],"instances":""},'
        '"episodes":1}'
    )
    (tmp_path / "episode-0000").mkdir()
    done = invoke("run", "weighing-basic", "--policy", "expert", "--episodes", 1, "--out", tmp_path)
    assert done.exit_code == 2
    assert "seed 5" in sentence(done)


def test_a_run_that_is_given_up_says_so_and_has_the_same_exit_code(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = invoke("run", "weighing-basic", "--policy", "lab_policies:NotThere", "--episodes", 5, "--out", out)
    assert done.exit_code == 3
    said = " ".join(done.output.split())
    assert "'lab_policies:NotThere' failed 3 times in a row before its first answer" in said
    assert "5 episodes are unresolved; run the same command again" in said
    assert len(list(out.glob("episode-*"))) == 3


def test_episodes_that_stay_unresolved_have_an_exit_code_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "o"
    done = invoke("run", "weighing-basic", "--policy", "lab_policies:OutOfService", "--episodes", 1, "--out", out)
    assert done.exit_code == 3
    assert "unresolved" in done.output and "connection to the model was lost" in done.output
    assert "unavailable" in done.output, "no episode, no rate"


def test_an_interface_failure_is_said_at_once_and_is_a_result(tmp_path: Path) -> None:
    done = invoke(
        "run", "weighing-basic", "--policy", "lab_policies:Raises", "--episodes", 1, "--out", tmp_path / "o"
    )  # fmt: skip
    assert done.exit_code == 0
    assert "the grip is jammed" in " ".join(done.output.split())


# --- diagnoses


def test_a_plan_is_written_once_and_says_what_it_registers(tmp_path: Path) -> None:
    out = tmp_path / "plans" / "plan.json"
    done = invoke("plan", "weighing-basic", "--starts", 6, "--out", out)
    assert done.exit_code == 0, done.output
    sha256 = json.loads(out.read_text())["sha256"]
    assert sha256 in "".join(done.output.split()) and "6: the denominator" in done.output and "held-out" in done.output
    before = out.read_bytes()
    assert invoke("plan", "weighing-basic", "--starts", 6, "--out", out).exit_code == 0
    assert out.read_bytes() == before, "the same request registers the same plan"
    other = invoke("plan", "weighing-basic", "--starts", 7, "--out", out)
    assert other.exit_code == 2 and "another registration" in sentence(other)
    assert out.read_bytes() == before


def test_a_plan_registers_the_branches_that_are_named(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    named = ("--branch", "decision:assist", "--branch", "decision:replace+geometry:replace")
    done = invoke("plan", "weighing-basic", "--starts", 1, "--split", "development", *named, "--out", out)
    assert done.exit_code == 0, done.output
    record = json.loads(out.read_text())["registration"]
    assert record["branches"] == ["", "decision:assist", "decision:replace+geometry:replace"]
    assert record["split"] == "development"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--split", "training"), "held-out"),
        (("--starts", 0), "would work"),
        (("--branch", "mind:replace"), "semantic"),
        (("--instances", "nothing"), "registered lists"),
        (("--budget", 0), "1 or more"),
        (("--after", -1), "0 or more"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_plan_that_cannot_be_registered_says_what_would_work(
    tmp_path: Path, options: tuple[Any, ...], said: str
) -> None:
    done = invoke("plan", "weighing-basic", "--out", tmp_path / "plan.json", *options)
    assert done.exit_code == 2
    assert said in sentence(done)
    assert not (tmp_path / "plan.json").exists()


def test_a_plan_that_is_none_or_was_changed_is_not_run(tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    missing = invoke("diagnose", plan, "--policy", "still", "--out", out)
    assert missing.exit_code == 2 and "labference plan" in sentence(missing)
    assert invoke("plan", "weighing-basic", "--starts", 2, "--out", plan).exit_code == 0
    plan.write_text(re.sub(r'"budget": ?', '"budget":1', plan.read_text()))
    changed = invoke("diagnose", plan, "--policy", "still", "--out", out)
    assert changed.exit_code == 2 and "changed after it was registered" in sentence(changed)
    assert not out.exists()


def test_a_system_is_diagnosed_scored_reported_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    branches = ("--branch", "geometry:replace")
    assert (
        invoke("plan", "weighing-basic", "--starts", 2, "--budget", 2, *branches, "--out", "plan.json").exit_code == 0
    )
    done = invoke("diagnose", "plan.json", "--policy", "still")
    assert done.exit_code == 0, done.output
    out = Path("runs", "diagnosis", "weighing-basic", "still")
    assert str(out) in "".join(done.output.split())
    assert "geometry:replace: " in done.output and "unsupported" in done.output, "it has no such interface"
    assert "0 % (0/2" in done.output
    files = sorted(path for path in out.rglob("*") if path.is_file())
    again = invoke("diagnose", "plan.json", "--policy", "still")
    assert again.exit_code == 0 and sorted(path for path in out.rglob("*") if path.is_file()) == files
    assert "Does it see the state?" in invoke("score", out).output
    audited = invoke("audit", out)
    assert audited.exit_code == 0 and audited.output.count("identical") == 2
    assert invoke("report", out).exit_code == 0 and (out / "report.html").exists()
    other = invoke("diagnose", "plan.json", "--policy", "favourite", "--out", out)
    assert other.exit_code == 2 and "policy 'still'" in sentence(other)


def test_diagnoses_are_compared_or_refused_by_the_field_that_differs(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    write_diagnosis(one, registration(4), lambda *_: Made(), "one")
    write_diagnosis(two, registration(4), lambda *_: Made(), "two")
    write_diagnosis(three, registration(5), lambda *_: Made(), "three")
    done = invoke("compare", one, two)
    assert done.exit_code == 0 and "E_fixed" in done.output and "one: " in done.output and "two: " in done.output
    refused = invoke("compare", one, three)
    assert refused.exit_code == 2 and "4 and 5 starts" in sentence(refused)
    nothing = invoke("compare", tmp_path / "nothing")
    assert nothing.exit_code == 2 and "labference diagnose" in sentence(nothing)


def test_servers_are_compared_by_what_they_call_themselves(tmp_path: Path) -> None:
    for name in ("swing", "nudger"):
        identity = {"transport": "http", "policy": f"http: {name} 1"}
        write_diagnosis(tmp_path / name, registration(4), lambda *_: Made(), "http", identity)
    done = invoke("compare", tmp_path / "swing", tmp_path / "nudger")
    assert done.exit_code == 0, done.output
    assert "http: swing 1: " in done.output and "http: nudger 1: " in done.output
    header = next(line for line in done.output.splitlines() if "Quantity" in line)
    assert "swing" in header and "nudger" in header


def test_a_diagnosis_that_is_not_finished_is_scored_as_what_it_is(tmp_path: Path) -> None:
    out = write_diagnosis(tmp_path / "o", registration(4), lambda number, _: MISSING if number == 3 else Made())
    done = invoke("score", out)
    assert done.exit_code == 0 and "3/4 pairs" in done.output and "6 branches have no outcome yet" in done.output


def test_help_needs_no_physics(python: Callable[..., Any]) -> None:
    program = (
        "import sys\nfrom labference.cli import main\ntry: main()\nexcept SystemExit: pass\n"
        "heavy = {'mujoco', 'mink', 'scipy', 'cv2', 'av', 'matplotlib'} & set(sys.modules)\nassert not heavy, heavy"
    )
    done = python("-c", program, "--help")
    assert done.returncode == 0, done.stderr
    for command in ("tasks", "run", "plan", "diagnose", "compare", "score", "audit", "report", "doctor"):
        assert command in done.stdout


def test_a_policy_in_the_working_folder_is_found(tmp_path: Path, python: Callable[..., Any]) -> None:
    (tmp_path / "my_robot.py").write_text(
        "class Robot:\n    def __init__(self, seed):\n        raise KeyError('reached')\n"
    )
    program = "import sys; sys.path.remove(''); from labference.cli import main; main()"  # as the console script does
    done = python("-c", program, "run", "weighing-basic", "--policy", "my_robot:Robot", "--episodes", "1", cwd=tmp_path)
    assert "Cannot import the policy module" not in done.stderr
    assert "reached" in done.stderr


def test_a_machine_that_cannot_render_is_told_so_in_one_sentence(tmp_path: Path, python: Callable[..., Any]) -> None:
    program = (
        "import os\nos.environ['MUJOCO_GL'] = 'disable'\nimport sys\n"
        f"sys.argv = ['labference', 'run', 'weighing-basic', '--policy', 'reader', '--out', {str(tmp_path / 'o')!r}]\n"
        "from labference.cli import main\nmain()"
    )
    done = python("-c", program)
    assert done.returncode == 2
    assert "labference doctor" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [["score"], ["audit"], ["report"]])
def test_a_name_is_printed_as_it_was_given_whatever_it_looks_like(command: list[str], tmp_path: Path) -> None:
    name = "openai:x:[bold]y[/bold]"
    result = invoke(*command, tmp_path / name)
    assert result.exit_code == 2 and name in result.stderr
