"""A tested system behind HTTP: whatever a server does ends as the failure that it is, and the run can be resumed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import rogue
from conftest import BASIC, TESTS, environment
from labference.bench import diagnosis
from labference.bench.campaign import TRIES, remaining, run
from labference.bench.laboratory import Laboratory
from labference.bench.patience import SILENT, GivenUp
from labference.bench.plan import Plan
from labference.cli import app
from labference.policies import make_policy, preflight
from labference.policies.remote.http import SERVICE as SERVICE_STATUSES
from labference.records import folder, strict
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.score.campaign import read_campaign
from labference.score.diagnosis import read_diagnosis
from labference.score.summary import summarise
from labference.serving.http import Server
from labference.tasks import contract_digest, find_task
from labference.truth.diagnosis import register
from labference.truth.draw import draw, lay_out
from labference.truth.identity import PlanError
from labference.wire import JOINT, ActionSpec, Capabilities, Goal, Observation, Refusal, ServiceFault, Wait, plain
from rogue import HTTP, SERVICE, SLOW, RogueServer, running
from test_codec import same

GOAL = Goal("Weigh.", ("wait", "stop"), (), ())
PATIENT_S, IMPATIENT_S = 60.0, 0.5
cli = CliRunner()


def hosted(policy: str = "rogue:Swinging") -> Any:
    return running(Server(partial(make_policy, policy), "127.0.0.1", 0))


# --- faults


@pytest.mark.parametrize("fault", HTTP)
def test_every_fault_of_a_server_ends_as_what_it_is(fault: str, laboratory: Laboratory, tmp_path: Path) -> None:
    reason, said = HTTP[fault]
    deadline = IMPATIENT_S if fault in SLOW else PATIENT_S
    with running(RogueServer(fault)) as server:
        plan = Plan(BASIC, server.address, 1, budget=100, deadline_s=deadline)
        result = laboratory.attempt(plan, 0, tmp_path)
    assert (result.reason, result.status) == (reason, "unresolved" if reason == SERVICE else "scored"), result.sentence
    assert said in result.sentence and "\n" not in result.sentence and len(result.sentence) < 500
    found = read_run(result.path)
    last = [event for event in found.lines(folder.EVENTS) if event["event"] in ("Refused", "Invalidated")]
    assert [event["event"] for event in last] == ["Invalidated" if reason == SERVICE else "Refused"]
    assert (found.scores is None) == (reason == SERVICE)
    assert [act["act"] for act in found.lines(folder.ACTIONS)] == ["Move"], "what came before the fault was carried out"
    assert "/witness" not in server.paths
    assert len(set(server.sessions)) == 1
    assert server.paths.count("/act") == 2, "nothing is asked twice"


def test_a_connection_that_failed_is_not_used_again() -> None:
    with running(RogueServer("closes")) as server:
        system = make_policy(server.address, 0)
        system.open()
        system.reset(GOAL, JOINT, "session")
        system.act(observation())
        for _ in range(2):
            with pytest.raises(ServiceFault):
                system.act(observation())
        system.close()
    assert server.paths.count("/act") == 2 and "/close" not in server.paths


def test_unresolved_episodes_stay_in_the_denominator_and_are_run_again(tmp_path: Path) -> None:
    with running(RogueServer("unavailable")) as server:
        plan = Plan(BASIC, server.address, 2, budget=20)
        results = list(run(plan, tmp_path))
    assert [result.status for result in results] == ["unresolved"] * 2
    found = summarise(read_campaign(tmp_path))
    assert (found.planned, found.scored, found.unresolved) == (2, 0, 2)
    assert all(len(folder.attempts(path)) == TRIES for path in folder.episodes(tmp_path))
    with hosted() as server:
        results = list(run(replace(plan, policy=server.address), tmp_path))
    assert [result.status for result in results] == ["scored"] * 2
    assert all(audit(result.path).difference is None for result in results)


def observation() -> Observation:
    return Observation(1, GOAL, None)  # type: ignore[arg-type]


# --- before the first episode


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:1", "connection refused"),
        ("http://127.0.0.1:1?format=xml", "http://HOST:PORT would work"),
        ("http://127.0.0.1:1?mode=json", "http://HOST:PORT would work"),
        ("http://user@127.0.0.1:1", "http://HOST:PORT would work"),
        ("http://127.0.0.1:70000", "http://HOST:PORT would work"),
        ("http://", "http://HOST:PORT would work"),
        ("http://a..b:80", "http://HOST:PORT would work"),
        ("http://127.0.0.1:1/grüße", "http://HOST:PORT would work"),
        ("http://127.0.0.1:1/my policy", "http://HOST:PORT would work"),
        ("ftp://127.0.0.1:1", "vla-eval://HOST:PORT would work"),
    ],
)
def test_an_address_where_nobody_is_stops_the_run_before_it_begins(tmp_path: Path, address: str, said: str) -> None:
    out = tmp_path / "out"
    done = cli.invoke(app, ["run", BASIC, "--policy", address, "--episodes", "1", "--out", str(out)])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split()) and "Traceback" not in done.output
    assert not out.exists()


class Declares:
    """A system that is made for what a test says."""

    wants = Capabilities("declares", "1")

    def __init__(self, seed: int) -> None:
        self.closed = False

    def open(self) -> Capabilities:
        return self.wants

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Begin."""

    def act(self, observation: Observation) -> Wait:
        return Wait(0.5)

    def close(self) -> None:
        """End."""


def test_a_server_that_does_not_drive_the_profile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Declares, "wants", Capabilities("arm", "1", actions=("end_effector",)))
    with running(Server(Declares, "127.0.0.1", 0)) as server, pytest.raises(Refusal, match="it drives end_effector"):
        preflight(server.address, JOINT, GOAL)


@pytest.mark.parametrize(
    "change",
    [
        {"rate_hz": 15.0},
        {"frame": "world"},
        {"absolute": False},
        {"gripper": "0 open, 1 closed"},
        {"units": ("deg",) * 8},
        {"size": 7},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_server_made_for_another_convention_is_refused_by_the_field(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = replace(JOINT, **change)
    monkeypatch.setattr(rogue._Handler, "do_GET", partial_get(theirs))
    with running(RogueServer("")) as server, pytest.raises(PlanError) as refused:
        run(Plan(BASIC, server.address, 1), tmp_path / "out")
    (field, value) = next(iter(change.items()))
    assert f"{field} {value!r}" in str(refused.value)
    assert f"here it is {getattr(JOINT, field)!r}" in str(refused.value)
    assert not (tmp_path / "out").exists()
    assert "/reset" not in server.paths


def partial_get(spec: ActionSpec) -> Callable[[Any], None]:
    """Return a GET handler that declares `spec`."""

    def get(self: Any) -> None:
        self.server.paths.append(self.path)
        declared = {"noun": "Capabilities", "name": "rogue", "version": "1"}
        self.say({"capabilities": declared, "specs": [plain.to_plain(spec)]})

    return get


def test_a_server_made_for_our_convention_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rogue._Handler, "do_GET", partial_get(JOINT))
    with running(RogueServer("")) as server:
        preflight(server.address, JOINT, GOAL)
    assert server.paths == ["/health", "/capabilities", "/reset", "/close"]


@pytest.mark.parametrize("fault", ["traceback", "refuses"])
def test_a_server_that_is_ill_is_found_before_the_first_episode(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(self: Any) -> None:
        self.misbehave(fault, {"request": 0})

    monkeypatch.setattr(rogue._Handler, "do_GET", get)
    with running(RogueServer(fault)) as server, pytest.raises(PlanError) as refused:
        run(Plan(BASIC, server.address, 1), tmp_path / "out")
    assert HTTP[fault][1].split(": ")[-1] in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_server_that_closes_after_every_answer_is_told_what_would_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rogue._Handler, "protocol_version", "HTTP/1.0")
    with running(RogueServer("")) as server, pytest.raises(ServiceFault, match=r"HTTP/1\.1, which keeps it open"):
        preflight(server.address, JOINT, GOAL)


@pytest.mark.parametrize(
    "changed",
    [{"actions": 5}, {"actions": "joint"}, {"actions": None}, {"actions": [1]}, {"formats": 5}, {"formats": [None]}],
    ids=str,
)
def test_a_declaration_of_another_type_is_refused_by_the_field(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (field,) = changed
    formats = {"formats": changed.pop("formats")} if field == "formats" else {}

    def get(self: Any) -> None:
        self.say({"capabilities": {"noun": "Capabilities", "name": "rogue", "version": "1"} | changed, **formats})

    monkeypatch.setattr(rogue._Handler, "do_GET", get)
    with running(RogueServer("")) as server, pytest.raises(Refusal, match=f"declares {field} .* works"):
        preflight(server.address, JOINT, GOAL)


def test_a_profile_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "profile.toml").write_text("name = 'x'\n")
    with hosted() as server, pytest.raises(PlanError, match="leave out the profile"):
        run(Plan(BASIC, server.address, 1, profile=str(tmp_path / "profile.toml")), tmp_path / "out")
    with pytest.raises(PlanError, match=r"missing\.toml"):
        run(Plan(BASIC, "http://127.0.0.1:1", 1, profile=str(tmp_path / "missing.toml")), tmp_path / "out")


# --- identity and resuming


def test_a_server_that_comes_back_elsewhere_goes_on_with_the_same_campaign(tmp_path: Path) -> None:
    with hosted() as server:
        first = server.address
        list(run(Plan(BASIC, first, 1, budget=10), tmp_path))
    with hosted() as server:
        assert server.address != first
        (result,) = run(Plan(BASIC, server.address, 2, budget=10), tmp_path)
    one, two = (read_campaign(tmp_path).scores[index]["identity"] for index in (0, 1))
    assert one["policy"] == two["policy"] == "http: scripted 1"
    assert one["transport"] == "http" and strict.read(tmp_path / folder.CAMPAIGN)["condition"]["policy"] == "http"
    assert re.search(r"127\.0|://", str(one)) is None
    assert audit(result.path).difference is None


def test_a_diagnosis_of_a_server_can_be_read_and_stays_of_one_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = find_task(BASIC)
    registration = register(
        contract,
        contract_digest(contract),
        task=BASIC,
        instances="",
        starts=2,
        seed=0,
        policy_seed=0,
        split="development",
        operations=0,
        branches=("",),
        budget=10,
    )
    with running(Server(Declares, "127.0.0.1", 0)) as server:
        assert next(diagnosis.run(registration, server.address, tmp_path)).status == "scored"
    assert read_diagnosis(tmp_path).policy == "http"
    monkeypatch.setattr(Declares, "wants", Capabilities("declares", "2"))
    with running(Server(Declares, "127.0.0.1", 0)) as server, pytest.raises(PlanError, match="'http: declares 1', not"):
        list(diagnosis.run(registration, server.address, tmp_path))
    monkeypatch.setattr(Declares, "wants", Capabilities("declares", "1"))
    with running(Server(Declares, "127.0.0.1", 0)) as server:
        assert [result.start for result in diagnosis.run(registration, server.address, tmp_path)] == [1]
    assert len(read_diagnosis(tmp_path).of("")) == 2


def test_another_system_behind_the_same_address_is_another_experiment(tmp_path: Path) -> None:
    with hosted() as server:
        list(run(Plan(BASIC, server.address, 1, budget=10), tmp_path))
    with hosted("still") as server, pytest.raises(PlanError, match="policy 'http: scripted 1', not 'http: still 1'"):
        list(run(Plan(BASIC, server.address, 2, budget=10), tmp_path))
    with pytest.raises(PlanError, match="with policy 'http'"):
        run(Plan(BASIC, "rogue:Swinging", 2, budget=10), tmp_path)


# --- serving


def test_sessions_are_apart_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Counts(Declares):
        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            self.seed, self.count = seed, 0
            made.append(self)

        def act(self, observation: Observation) -> Wait:
            self.count += 1
            return Wait(float(self.count))

        def close(self) -> None:
            self.closed = True

    with running(Server(lambda seed: Counts(seed), "127.0.0.1", 0)) as server:
        one, two = (make_policy(server.address, seed) for seed in (7, 8))
        for system, session in ((one, "a"), (two, "b")):
            system.open()
            system.reset(GOAL, JOINT, session)
        assert [one.act(observation()), one.act(observation()), two.act(observation())] == [
            Wait(1.0),
            Wait(2.0),
            Wait(1.0),
        ]
        assert server.sessions == 2
        one.close()
        assert [policy.closed for policy in made[1:]] == [True, False]
        assert server.sessions == 1
    with pytest.raises(ServiceFault):
        two.close()
    assert [policy.seed for policy in made] == [0, 7, 8]
    assert all(policy.closed for policy in made), "those that were left open are closed with the server"


def test_a_session_that_nobody_asks_is_closed() -> None:
    with running(Server(Declares, "127.0.0.1", 0, idle_s=0.0)) as server:
        system = make_policy(server.address, 0)
        system.open()
        system.reset(GOAL, JOINT, "a")
        server.service_actions()
        with pytest.raises(ServiceFault, match="status 410"):
            system.act(observation())
        system.close()


def test_a_session_from_before_a_restart_is_a_fault_and_no_failure() -> None:
    with hosted() as server:
        port = server.server_port
        system = make_policy(server.address, 0)
        system.open()
        system.reset(GOAL, JOINT, "a")
    with running(Server(Declares, "127.0.0.1", port)), pytest.raises(ServiceFault):
        system.act(observation())
    system.close()


def test_what_a_served_system_raises_is_what_it_would_be_in_process() -> None:
    class Raises(Declares):
        error: BaseException = RuntimeError("jammed")

        def act(self, observation: Observation) -> Wait:
            raise self.error

    with running(Server(Raises, "127.0.0.1", 0)) as server:
        system = make_policy(server.address, 0)
        system.open()
        system.reset(GOAL, JOINT, "a")
        with pytest.raises(Refusal, match="'declares' raised RuntimeError: jammed") as refused:
            system.act(observation())
        assert refused.value.kind == "exception"
        Raises.error = ServiceFault("The model is gone.")
        with pytest.raises(ServiceFault, match=r"The model is gone\."):
            system.act(observation())
        Raises.error = Refusal("shape", "Not like that.")
        with pytest.raises(Refusal, match=r"Not like that\.") as refused:
            system.act(observation())
        assert refused.value.kind == "shape"
        system.close()


@pytest.mark.parametrize("form", ["json", "msgpack"])
def test_an_observation_arrives_bit_for_bit_in_either_form(form: str, laboratory: Laboratory) -> None:
    seen: list[Observation] = []

    class Looks(Declares):
        def act(self, observation: Observation) -> Wait:
            seen.append(observation)
            return Wait(0.5)

    instance, seeds = draw(laboratory.contract, 0, 0)
    laboratory.prepare(instance, seeds, lay_out(laboratory.contract, instance, seeds))
    senses = laboratory.world.sense(("front", "wrist"), depth=True, readings=True)
    shown = Observation(3, GOAL, senses)
    with running(Server(Looks, "127.0.0.1", 0)) as server:
        system = make_policy(f"{server.address}?format={form}", 0)
        system.open()
        system.reset(GOAL, JOINT, "a")
        assert system.act(shown) == Wait(0.5)
        system.close()
    assert same(seen[0], shown)


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with hosted() as server:
        preflight(server.address, JOINT, GOAL)


# --- servers that are processes


@pytest.fixture
def serving() -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Return a function that starts `labference serve` as a process, and returns it with its address."""
    children: list[subprocess.Popen[str]] = []

    def start(policy: str, **more: str) -> tuple[subprocess.Popen[str], str]:
        child = subprocess.Popen(
            [sys.executable, "-c", "from labference.cli import main; main()", "serve", policy, "--port", "0"],
            env=environment() | more,
            stdout=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        assert child.stdout is not None
        return child, child.stdout.readline().strip()

    yield start
    for child in children:
        child.kill()
        child.communicate()


def test_a_run_survives_a_server_that_is_killed_twice(tmp_path: Path, serving: Any) -> None:
    plan = Plan(BASIC, "", 12, budget=6, deadline_s=PATIENT_S)
    ends: list[list[str]] = []
    for life in ("15", "12", "0"):
        child, address = serving("rogue:Mortal", ROGUE_LIFE=life)
        ends.append([])
        with suppress(GivenUp):
            for result in run(replace(plan, policy=address), tmp_path / "http"):
                ends[-1].append(result.status)
        killed = child.wait() if life != "0" else None
        assert killed in (-signal.SIGKILL, None)
    assert "scored" in ends[0] and "unresolved" in ends[0] and "unresolved" in ends[1]
    assert ends[0].count("unresolved") <= 1 + SILENT, "the run stops soon after its server"
    assert ends[2] and set(ends[2]) == {"scored"}
    assert remaining(plan, tmp_path / "http") == []
    list(run(replace(plan, policy="rogue:Swinging"), tmp_path / "here"))
    for one, two in zip(folder.episodes(tmp_path / "http"), folder.episodes(tmp_path / "here"), strict=True):
        ours, theirs = folder.finished(one), folder.finished(two)
        assert ours is not None and theirs is not None
        assert (ours / folder.EVENTS).read_bytes() == (theirs / folder.EVENTS).read_bytes()
    found = summarise(read_campaign(tmp_path / "http"))
    assert (found.planned, found.scored, found.unresolved) == (12, 12, 0)


def test_a_served_policy_is_run_by_its_address_and_stopped_by_an_interrupt(
    tmp_path: Path, serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, address = serving("still")
    command = ["run", BASIC, "--policy", address, "--episodes", "1", "--budget", "2"]
    monkeypatch.chdir(tmp_path)
    done = cli.invoke(app, command, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "runs" / BASIC / "http").glob("episode-*"))) == 1
    assert "http: still 1" in done.output
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 0


def test_serving_says_what_would_have_worked() -> None:
    for arguments, said in (
        (["serve", "redaer"], "Did you mean 'reader'?"),
        (["serve", "expert"], "'expert' reads the truth"),
        (["serve", "http://127.0.0.1:1"], "'http://127.0.0.1:1' is a server"),
        (["serve", "still", "--over", "smoke"], "wires: http, openpi, vla-eval"),
        (["serve", "still", "--profile", "x.toml"], "no profile"),
    ):
        done = cli.invoke(app, arguments)
        assert done.exit_code == 2 and said in " ".join(done.output.split())
    with hosted() as server:
        done = cli.invoke(app, ["serve", "still", "--port", str(server.server_port)])
    assert done.exit_code == 2 and "--port 0 takes a free one" in " ".join(done.output.split())


def test_commands_as_lists_of_lists_are_carried_out(laboratory: Laboratory, tmp_path: Path) -> None:
    with running(RogueServer("unavailable")) as server:
        result = laboratory.attempt(Plan(BASIC, server.address, 1, budget=100), 0, tmp_path)
    (act,) = read_run(result.path).lines(folder.ACTIONS)
    assert np.array_equal(np.array(act["requested"]), rogue.HONEST)


# --- a server of somebody else


def test_the_example_server_drives_a_bench(tmp_path: Path) -> None:
    example = TESTS.parent / "examples" / "http_server.py"
    child = subprocess.Popen([sys.executable, str(example), "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        plan = Plan(BASIC, child.stdout.readline().strip(), 1, budget=20, deadline_s=PATIENT_S)
        (result,) = run(plan, tmp_path)
    finally:
        child.kill()
        child.communicate()
    assert (result.status, result.reason) == ("scored", "budget"), result.sentence
    acts = read_run(result.path).lines(folder.ACTIONS)
    assert len(acts) == 20 and len({act["requested"][0][0] for act in acts}) == 20, (
        "every answer follows the time shown"
    )


def test_the_example_server_needs_nothing_but_python() -> None:
    source = (TESTS.parent / "examples" / "http_server.py").read_text()
    used = {line.split()[1].partition(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert used <= sys.stdlib_module_names


def test_the_page_names_every_request_and_status() -> None:
    page = (TESTS.parent / "docs" / "http.md").read_text()
    for word in ("/health", "/capabilities", "/reset", "/act", "/witness", "/close", *map(str, SERVICE_STATUSES)):
        assert word in page
