"""A policy in a process of its own: nothing it does hangs the bench, is lost, or outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import BASIC, environment
from labference.bench import diagnosis
from labference.bench.campaign import run
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.cli import app
from labference.policies import make_policy, preflight
from labference.policies.remote import process
from labference.records import folder, strict
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.score.campaign import read_campaign
from labference.score.summary import summarise
from labference.tasks import contract_digest, find_task
from labference.truth.diagnosis import register
from labference.truth.identity import PROCESS, PlanError
from labference.wire import JOINT, Goal, Observation, Refusal, ServiceFault, Wait
from rogue import IN_PROCESS, SERVICE, SILENT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a policy in a process of its own needs a POSIX system")
GOAL = Goal("Weigh.", ("wait", "stop"), (), ())
PATIENT_S, IMPATIENT_S = 60.0, 0.7
PLAN = Plan(BASIC, "rogue:Swinging", 1, budget=20, deadline_s=PATIENT_S, transport=PROCESS)
cli = CliRunner()


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    """See that no process is left behind, dead or alive."""
    before = children()
    yield
    process.dismiss()
    assert children() <= before


def children() -> set[int]:
    """Return the processes that this one has started to host policies, and those it has not buried."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=3) for line in listed.splitlines()]
    ours = [(int(pid), state, words) for pid, parent, state, words in rows if int(parent) == os.getpid()]
    return {pid for pid, state, words in ours if "labference.serving.process" in words or state.startswith("Z")}


def observation() -> Observation:
    return Observation(1, GOAL, None)  # type: ignore[arg-type]


# --- faults


@pytest.mark.parametrize("name", IN_PROCESS)
def test_every_fault_of_a_policy_ends_as_what_it_is(name: str, laboratory: Laboratory, tmp_path: Path) -> None:
    reason, said = IN_PROCESS[name]
    policy = f"rogue:{name}"
    assert process.missing(policy, PATIENT_S) == "", "loaded before the clock of an impatient test begins"
    plan = replace(PLAN, policy=policy, budget=100, deadline_s=IMPATIENT_S if name in SILENT else PATIENT_S)
    result = laboratory.attempt(plan, 0, tmp_path)
    assert (result.reason, result.status) == (reason, "unresolved" if reason == SERVICE else "scored"), result.sentence
    assert said in result.sentence and "\n" not in result.sentence and len(result.sentence) < 500
    found = read_run(result.path)
    last = [event for event in found.lines(folder.EVENTS) if event["event"] in ("Refused", "Invalidated")]
    assert [event["event"] for event in last] == ["Invalidated" if reason == SERVICE else "Refused"]
    assert (found.scores is None) == (reason == SERVICE)
    assert [act["act"] for act in found.lines(folder.ACTIONS)] == ["Wait"], "what came before the fault was carried out"


def test_a_hang_is_a_fault_whose_retry_begins_a_fresh_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "marker"
    marker.touch()
    monkeypatch.setenv("ROGUE_MARKER", str(marker))
    assert process.missing("rogue:HangsOnce", PATIENT_S) == ""
    plan = replace(PLAN, policy="rogue:HangsOnce", deadline_s=5.0)
    (result,) = run(plan, tmp_path / "out")
    assert (result.status, result.path.name) == ("scored", "attempt-2")
    found = summarise(read_campaign(tmp_path / "out"))
    assert (found.planned, found.scored, found.unresolved) == (1, 1, 0)
    assert audit(result.path).difference is None


def test_after_a_fault_nobody_is_asked_again_in_the_same_episode() -> None:
    system = make_policy("rogue:Leaves", 0, isolated=True)
    system.open()
    system.reset(GOAL, JOINT, "session")
    system.act(observation())
    for said in ("exit status 3", "has ended"):
        with pytest.raises(ServiceFault, match=said):
            system.act(observation())
    system.close()


def test_an_answer_to_another_question_is_never_used() -> None:
    system = make_policy("rogue:AnswersTwice", 0, isolated=True)
    system.open()
    system.reset(GOAL, JOINT, "session")
    system.act(observation())
    system.act(observation())
    time.sleep(1)  # for the second answer of the two to lie there
    with pytest.raises(ServiceFault, match="was answered with the answer to question"):
        system.act(observation())
    system.close()


# --- what is the same as in process


def test_a_policy_is_loaded_once_and_built_for_every_episode() -> None:
    pids = []
    for seed in (1, 2):
        system = make_policy("lab_policies:Scripted", seed, isolated=True)
        system.open()
        system.reset(GOAL, JOINT, "session")
        assert system.act(observation()) == Wait(1.0)
        pids.append(children())
        system.close()
    assert len(pids[0]) == 1 and pids[0] == pids[1]


def test_two_systems_at_a_time_are_two_processes() -> None:
    one, two = (make_policy("lab_policies:Scripted", seed, isolated=True) for seed in (1, 2))
    assert len(children()) == 2
    one.close()
    two.close()
    assert len(children()) == 1, "one waits for the next episode"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("redaer", "Did you mean 'reader'"),
        ("no_such_module_here:Robot", "no_such_module_here"),
        ("lab_policies:Robot", "has no class 'Robot'"),
        ("lab_policies:HERE", "give a class"),
        (":Robot", "Empty module name"),
    ],
)
def test_a_policy_that_is_none_is_answered_as_in_process(policy: str, said: str) -> None:
    from labference.policies import UnknownPolicy

    sentences = []
    for isolated in (True, False):
        with pytest.raises(UnknownPolicy) as unknown:
            preflight(policy, JOINT, GOAL, isolated=isolated)
        sentences.append(str(unknown.value))
    assert said in sentences[0] and sentences[0] == sentences[1]


def test_a_policy_that_cannot_be_opened_is_incompatible(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no licence"):
        list(run(replace(PLAN, policy="lab_policies:RaisesOnOpen"), tmp_path / "out"))


def test_the_parent_does_not_import_what_it_tests(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text(
        "import sys\nfrom lab_policies import Scripted\nassert 'labference.bench' not in sys.modules\n"
        "class Robot(Scripted):\n    pass\n"
    )
    program = (
        "import sys; sys.path.insert(0, '')\nfrom pathlib import Path\nfrom labference.bench.campaign import run\n"
        "from labference.bench.plan import Plan\n"
        "plan = Plan('weighing-basic', 'alone:Robot', 1, budget=4, transport='process')\n"
        "assert [result.status for result in run(plan, Path('out'))] == ['scored']\n"
        "assert 'alone' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


RUNS_ITSELF = """
from pathlib import Path
from labference.bench.campaign import run
from labference.bench.plan import Plan
from labference.policies.still import Still as Mine
plan = Plan("weighing-basic", f"{__name__}:Mine", 1, transport="process", deadline_s=60)
list(run(plan, Path(__file__).parent / "out"))
"""


def test_a_policy_whose_module_runs_itself_does_not_begin_processes_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs_itself.py").write_text(RUNS_ITSELF)
    monkeypatch.syspath_prepend(str(tmp_path))
    said = process.missing("runs_itself:Mine", PATIENT_S)
    assert 'its module may do so under if __name__ == "__main__".' in said and not said.endswith("..")
    assert not (tmp_path / "out").exists()


def test_a_process_may_take_longer_to_begin_than_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from labference.policies.remote.child import Child

    deadlines: list[float] = []
    ask = Child.ask

    def noted(self: Child, message: bytes, deadline_s: float) -> bytes:
        deadlines.append(deadline_s)
        return ask(self, message, PATIENT_S)

    monkeypatch.setattr(Child, "ask", noted)
    make_policy("still", 0, isolated=True, deadline_s=0.5).close()
    assert deadlines == [process.START_S, 0.5, 0.5]


def test_a_child_is_told_no_path_of_the_records_and_reads_no_terminal() -> None:
    system = make_policy("lab_policies:Scripted", 0, isolated=True)
    (pid,) = children()
    told = Path(f"/proc/{pid}/cmdline")
    if told.exists():
        words = told.read_bytes().decode().split("\0")
        assert words[1:3] == ["-m", "labference.serving.process"] and all(word.isdigit() for word in words[3:6])
        assert os.readlink(f"/proc/{pid}/fd/0") == os.devnull
    system.close()


def test_what_a_policy_prints_goes_to_our_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    system = make_policy("rogue:Leaves", 0, isolated=True)
    system.open()
    system.reset(GOAL, JOINT, "session")
    system.act(observation())
    with pytest.raises(ServiceFault):
        system.act(observation())
    said = capfd.readouterr()
    assert "the licence has run out" in said.err and said.out == ""


# --- the command line


def test_a_local_policy_is_in_a_process_of_its_own_unless_told_otherwise(tmp_path: Path) -> None:
    found = {}
    for name, more in (("apart", []), ("here", ["--in-process"])):
        common = ["run", BASIC, "--policy", "rogue:Swinging", "--episodes", "1", "--budget", "10"]
        done = cli.invoke(app, [*common, "--out", str(tmp_path / name), *more])
        assert done.exit_code == 0, done.output
        found[name] = read_campaign(tmp_path / name).scores[0]["identity"]["transport"]
    assert found == {"apart": "process", "here": "in-process"}
    mixed = cli.invoke(app, [*common, "--episodes", "2", "--out", str(tmp_path / "apart"), "--in-process"])
    assert mixed.exit_code == 2 and "transport 'process'" in " ".join(mixed.output.split())
    done = cli.invoke(app, ["run", BASIC, "--policy", "expert", "--episodes", "1", "--out", str(tmp_path / "expert")])
    assert done.exit_code == 0
    assert read_campaign(tmp_path / "expert").scores[0]["identity"]["transport"] == "in-process"


def test_a_diagnosis_is_the_same_in_a_process_of_its_own(tmp_path: Path) -> None:
    contract = find_task(BASIC)
    registration = register(
        contract,
        contract_digest(contract),
        task=BASIC,
        instances="",
        starts=1,
        seed=0,
        policy_seed=0,
        split="development",
        operations=0,
        branches=("", "geometry:replace"),
        budget=10,
    )
    ends = []
    for transport in ("in-process", "process"):
        out = tmp_path / transport
        results = list(diagnosis.run(registration, "still", out, transport=transport))
        assert [result.status for result in results] == ["scored", "unsupported"]
        ends.append((results[0].path / folder.EVENTS).read_bytes())
        assert strict.read(out / folder.DIAGNOSIS)["transport"] == transport
    assert ends[0] == ends[1]
    with pytest.raises(PlanError, match="with transport 'process'"):
        diagnosis.run(registration, "still", out)


# --- nothing outlives us

WAITING = """
import sys
from labference.policies import make_policy
from labference.wire import JOINT, Goal, Observation
goal = Goal("Weigh.", ("wait",), (), ())
system = make_policy(sys.argv[1], 0, isolated=True)
system.open()
system.reset(goal, JOINT, "session")
print("begun", flush=True)
while True:
    system.act(Observation(1, goal, None))
"""


@pytest.mark.parametrize(
    ("policy", "number"),
    [
        ("rogue:Swinging", signal.SIGKILL),
        ("rogue:Hangs", signal.SIGKILL),
        ("rogue:HangsInC", signal.SIGKILL),
        ("rogue:Computes", signal.SIGKILL),
        ("rogue:Computes", signal.SIGTERM),
        ("rogue:Computes", signal.SIGINT),
    ],
)
def test_a_child_does_not_outlive_its_parent(policy: str, number: signal.Signals) -> None:
    if sys.platform != "linux" and policy in ("rogue:HangsInC", "rogue:Computes"):
        pytest.skip("only Linux kills a process that never lets go of the interpreter")
    parent = subprocess.Popen(
        [sys.executable, "-c", WAITING, policy],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None and parent.stdout.readline() == "begun\n"
    (child,) = below(parent.pid)
    time.sleep(0.2)
    parent.send_signal(number)
    try:
        parent.communicate(timeout=60)
    finally:
        parent.kill()
    assert gone(child)


def test_workers_and_their_children_do_not_outlive_a_run_that_is_killed(tmp_path: Path) -> None:
    before = sleepers()
    settings = ["--policy", "rogue:Swinging", "--episodes", "400", "--budget", "20", "--workers", "2"]
    program = "from labference.cli import main; main()"
    parent = subprocess.Popen(
        [sys.executable, "-c", program, "run", BASIC, *settings, "--out", str(tmp_path / "out")],
        env=environment(),
        stdout=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 90
        while len(below(parent.pid)) < 2 or len(list((tmp_path / "out").glob("episode-*/*/scores.json"))) < 2:
            assert time.monotonic() < until and parent.poll() is None
            time.sleep(0.1)
        started = below(parent.pid) | (sleepers() - before)
    finally:
        parent.kill()
        parent.wait()
    assert len(started) >= 4 and all(map(gone, started))


def below(parent: int) -> set[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return {int(pid) for pid, above in rows if int(above) == parent}


def gone(pid: int) -> bool:
    """Wait until a process has ended; one that nobody buries counts as ended."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
        if not found.stdout.strip() or found.stdout.startswith("Z"):
            return True
        time.sleep(0.05)
    return False


def test_what_a_policy_started_goes_with_it() -> None:
    before = sleepers()
    system = make_policy("rogue:Forks", 0, isolated=True)
    system.open()
    system.reset(GOAL, JOINT, "session")
    system.act(observation())
    with pytest.raises(ServiceFault, match="exit status 4"):
        system.act(observation())
    until = time.monotonic() + 30
    while sleepers() - before and time.monotonic() < until:
        time.sleep(0.05)
    assert sleepers() <= before


def sleepers() -> set[int]:
    """Return the processes that host policies and were begun by the tests of this file."""
    listed = subprocess.run(["ps", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    found = {int(pid) for pid, state, words in rows if "labference.serving.process" in words and state[0] != "Z"}
    return {pid for pid in found if _ours(pid)}


def _ours(pid: int) -> bool:
    """Return whether a process inherited the environment of a test of this file; true where that cannot be seen."""
    try:
        return Path(__file__).name.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return sys.platform != "linux"


def test_two_workers_have_a_child_each_and_leave_none(tmp_path: Path) -> None:
    before = sleepers()
    results = list(run(replace(PLAN, episodes=2), tmp_path / "two", workers=2))
    assert [result.status for result in results] == ["scored"] * 2
    process.dismiss()
    assert sleepers() <= before
    one = list(run(replace(PLAN, episodes=2), tmp_path / "one"))
    for ours, theirs in zip(results, one, strict=True):
        assert (ours.path / folder.EVENTS).read_bytes() == (theirs.path / folder.EVENTS).read_bytes()


def test_other_systems_say_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "POSIX", False)
    with pytest.raises(Refusal, match="--in-process would work"):
        make_policy("still", 0, isolated=True)
