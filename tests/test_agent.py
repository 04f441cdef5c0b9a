"""The agent's trials: methods, checkpoints, precautions, experience, and a language model in its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from labevolver.agent import METHODS, Agent
from labevolver.bank import MEMORY, Bank
from labevolver.experience import Advice, Draft, Parameter, Term
from labevolver.experiments.common import laboratory, plan_of
from labevolver.experiments.evolve import Setting, trial
from labevolver.gate.gate import ABANDON
from labevolver.labs.wet_memory import WetMemory
from labevolver.labs.wetlab import Target
from labevolver.maintain import Finished, Teach
from labevolver.model.budget import Budget, Limits
from labevolver.model.port import Ask, ModelError, Reply
from labevolver.operate.context import Context, Proposal
from labevolver.operate.dosing import cold, experienced
from labevolver.operate.language import Chosen, Grounded, Intended, LanguageMind, Number, Steps
from labevolver.operate.symbolic import SymbolicMind
from labevolver.retrieve import Retrieved
from labevolver.skills.atomic import Action, action
from labevolver.skills.search import TRIALS, explore
from labevolver.skills.templates import add_cycle, dose_and_measure, measure_cycle
from labevolver.skills.tools import (
    Dose,
    Reading,
    apparent_ec,
    curve_of,
    fitted,
    secant,
    to_reach_ec,
    trend,
)
from labevolver.supervise import Checkpoint
from labevolver.transcript import lines, transcript
from labference.bench.laboratory import Result
from labference.bench.system import System, answered
from labference.records import folder
from labference.score.audit import audit
from labference.wire import Policy
from labference.world.wet.timing import TIMINGS


def run(policy: Policy, out: Path, task: str = "ph", index: int = 0, instances: str = "paper") -> Result:
    plan = plan_of(task, "labevolver", index + 1, 0, instances)
    system = System(lambda: policy, "labevolver", 600.0)
    return answered(laboratory(task).ask(plan, index, out, system), system)


def agent(method: str = "inner-only") -> Agent:
    return Agent(SymbolicMind(METHODS[method]), method)


# --- trials


def test_a_trial_is_an_ordinary_record_that_the_audit_confirms_and_every_act_has_a_ruling(tmp_path: Path) -> None:
    made = agent()
    result = run(made, tmp_path)
    assert (result.status, result.reason) == ("scored", "completed")
    found = audit(result.path)
    assert found.difference is None, found
    acts = [json.loads(line) for line in (result.path / folder.ACTIONS).read_text().splitlines()]
    asked = [each["operation"]["kind"] for each in acts if each["act"] == "Perform"]
    ruled = [each.action.kind for each in made.gate.rulings if each.admitted and each.action.kind != "stop"]
    assert asked == ruled


def test_an_agent_whose_grasps_all_miss_gives_up_after_three_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TIMINGS, "pick", replace(TIMINGS["pick"], fails=1.0))
    made = agent()
    result = run(made, tmp_path)
    assert (result.status, result.reason) == ("scored", "stopped")
    assert made.trial is not None and not made.trial.claimed
    tried = [each.action.kind for each in made.gate.rulings if each.admitted and each.action.item == "acid"]
    assert tried == ["pick"] * 3
    logs = [each.exception for each in made.gate.intercepts if each.exception is not None]
    assert "nothing changed" in logs[-1].sentence and logs[-1].values == (("in_vain", 3),)


def test_the_inner_loop_is_refused_each_thing_once(tmp_path: Path) -> None:
    with_notes = agent()
    run(with_notes, tmp_path / "a")
    logs = [each.exception for each in with_notes.gate.intercepts if each.exception is not None]
    seen = [(log.rule, log.action.kind, log.where, log.values) for log in logs]
    assert 0 < len(seen) == len(set(seen))
    assert with_notes.supervisor is not None and len(with_notes.supervisor.checkpoint.doses) >= 2


def test_act_plans_once_and_is_stopped_at_the_end_or_not_successful(tmp_path: Path) -> None:
    once = agent("act")
    result = run(once, tmp_path)
    assert result.reason != "completed" and once.supervisor is not None
    assert sum(each.admitted and each.action.kind == "pour" for each in once.gate.rulings) == 1


def test_a_transcript_tells_intents_rulings_and_exceptions(tmp_path: Path) -> None:
    made = agent()
    run(made, tmp_path)
    told = transcript(made)
    assert next(each for each in told["moves"] if not each["admitted"])["exception"]["layer"] == "procedure"
    assert json.loads(json.dumps(told)) == told
    assert any("✗" in line for line in lines(made)) and any("add 2.0 g of acid" in line for line in lines(made))


def test_a_pour_is_done_with_a_beaker_that_holds_something_already(tmp_path: Path) -> None:
    made = agent()
    run(made, tmp_path, "pouring-water", 1, "")
    kinds = [each.action.kind for each in made.gate.rulings if each.admitted]
    assert "pour" in kinds and kinds[-1] in ("stop", ABANDON, "place")


# --- learning


def test_ten_trials_need_fewer_additions_intercepts_and_less_time_with_experience(tmp_path: Path) -> None:
    plan = plan_of("ph", "labevolver", 8, 0, "paper")
    with Bank(MEMORY) as bank:
        found = [trial(plan, index, tmp_path, bank, Setting()) for index in range(8)]
        kinds = {entry.lesson.kind for entry in bank.entries()}
    first, last = found[:3], found[-3:]
    assert kinds == {"skill", "strategy", "safety"}
    assert sum(each.intercepts for each in last) == 0 < sum(each.intercepts for each in first)
    assert sum(each.additions for each in last) < sum(each.additions for each in first)
    assert sum(each.seconds for each in last) < sum(each.seconds for each in first)


def test_a_trial_that_is_there_teaches_once_and_what_was_not_learned_is_learned_when_going_on(tmp_path: Path) -> None:
    plan = plan_of("ph", "labevolver", 1, 0, "paper")
    path = tmp_path / "bank.db"
    with Bank(path) as bank:
        first = trial(plan, 0, tmp_path / "trials", bank, Setting())
        size = len(bank.log())
        assert trial(plan, 0, tmp_path / "trials", bank, Setting()) == first and len(bank.log()) == size
    with Bank(tmp_path / "other.db") as other:
        assert trial(plan, 0, tmp_path / "trials", other, Setting()) == first
        assert [each.name for each in other.log()] == [each.name for each in Bank(path).log()]


def test_the_measuring_time_that_is_learned_is_what_sufficed_and_not_what_the_slowest_reading_took(
    tmp_path: Path,
) -> None:
    plan = plan_of("ph", "labevolver", 1, 0, "paper")
    with Bank(tmp_path / "bank.db") as bank:
        trial(plan, 0, tmp_path / "a", bank, Setting())
        lessons = [entry.lesson for entry in bank.entries() if entry.lesson.kind == "skill"]
    told = json.loads((tmp_path / "a" / "transcripts" / "trial-0000.json").read_text())
    kinds = [move["kind"] for move in told["moves"] if move["admitted"]]
    assert ("measure", "measure") in pairwise(kinds), "one reading of this water takes longer"
    assert [each.value for lesson in lessons for each in lesson.advice.parameters] == [60.0]


def test_advice_that_would_break_a_rule_is_refused_like_anything_else(tmp_path: Path) -> None:
    poison = Draft(
        "safety",
        (Term("kind", among=("measure",)),),
        Advice("Measure only after {instead}.", (Parameter("instead", "pour"),)),
    )
    with Bank(MEMORY) as bank:
        bank.learn(Finished("poisoner", True), [Teach(poison)])
        name = bank.entries()[0].id
        for index in range(3):
            trial(plan_of("ph", "labevolver", 3, 0, "paper"), index, tmp_path, bank, Setting())
        assert bank.entry(name).score < 2.0
    for told in (tmp_path / "transcripts").glob("*.json"):
        moves = json.loads(told.read_text())["moves"]
        assert all(not move["admitted"] for move in moves if "pour probe" in move["action"])


# --- tools


def test_a_secant_reaches_what_it_saw_and_never_runs_away() -> None:
    assert secant(7.7, 2.0, 7.0, 6.3) == pytest.approx(2.0)
    assert secant(7.7, 2.0, 7.7, 5.0) == 6.0 and secant(7.7, 2.0, 7.69, 5.0) == 6.0


def test_a_mixture_by_mass_is_undone_by_its_inverse() -> None:
    before, after = Reading(6.0, 400.0, 50.0, 0.0), Reading(6.0, 500.0, 60.0, 9.0)
    stock = apparent_ec(Dose("salt", 10.0, before, after))
    assert stock == pytest.approx(1000.0)
    assert to_reach_ec(50.0, 400.0, 500.0, 1000.0) == pytest.approx(10.0)
    assert to_reach_ec(50.0, 400.0, 500.0, 300.0) is None


def test_a_trend_is_the_slope_and_none_of_one_time() -> None:
    assert trend([(0.0, 1.0), (10.0, 3.0), (20.0, 5.0)]) == pytest.approx(0.2) and trend([(3.0, 1.0)]) == 0.0


def test_a_curve_tells_the_rest_of_a_dose_whatever_the_strength_of_the_stock() -> None:
    start = Reading(7.7, 280.0, 60.0, 0.0)
    points = [(0.0, 7.7), (2.0, 6.9), (5.0, 6.3), (8.0, 5.6), (9.0, 5.0)]
    one, two = fitted(points, start, 6.5), fitted([(2 * g, ph) for g, ph in points], start, 6.5)
    assert one is not None and two is not None
    assert two.per == pytest.approx(2 * one.per)
    for ph in (7.0, 6.0, 5.25):
        assert one.share(ph) == pytest.approx(two.share(ph))
    assert one.share(6.5) == pytest.approx(1.0) and one.share(2.0) is None
    assert curve_of(one.parameters("rises"), "rises") == one and curve_of(one.parameters("rises"), "falls") is None
    assert fitted(points[:2], start, 6.5) is None


def _cold_checkpoint(*doses: tuple[str, float, float, float]) -> Checkpoint:
    readings, made = [Reading(7.7, 280.0, 60.0, 0.0)], list[Dose]()
    for tube, grams, ph, ec in doses:
        readings.append(Reading(ph, ec, readings[-1].grams + grams, 0.0))
        made.append(Dose(tube, grams, readings[-2], readings[-1]))
    return Checkpoint(len(readings), 0.0, tuple(readings), tuple(made))


PH5 = Target("ph", 5.0, 0.2, tubes=("acid", "base"))


def test_without_experience_both_ways_of_dosing_are_the_same() -> None:
    for now in (_cold_checkpoint(), _cold_checkpoint(("acid", 2.0, 7.0, 285.0))):
        assert experienced(PH5, now, Retrieved((), 0, 0.0)) == cold(PH5, now) != None  # noqa: E711
    assert cold(PH5, _cold_checkpoint(("acid", 9.0, 5.1, 285.0))) is None


def test_an_overshoot_is_corrected_with_the_other_reagent() -> None:
    wanted = cold(PH5, _cold_checkpoint(("acid", 9.0, 4.0, 285.0)))
    assert wanted is not None and wanted.tube == "base"


@pytest.mark.parametrize("seed", range(4))
def test_an_exploration_goes_on_from_any_of_its_pours(seed: int) -> None:
    seen: list[tuple[float, float]] = []
    while True:
        gains, done = explore(seed, seen)
        if done:
            break
        assert explore(seed, seen) == (gains, False)
        seen.append((round(0.8 - gains.pre_stop, 1), 6.0 / gains.kp))
    assert len(seen) == TRIALS == 40
    assert gains.pre_stop == pytest.approx(0.8, abs=0.1)


def test_templates_are_made_of_atomic_actions_in_the_order_that_the_gate_wants() -> None:
    kinds = [each.kind for each in dose_and_measure("acid", 60.0, amount_g=2.0)]
    assert kinds == [each.kind for each in (*add_cycle("acid", amount_g=2.0), *measure_cycle(60.0))]
    assert kinds == ["pick", "pour", "place", "stir", "take_probe", "measure", "rinse_probe", "return_probe"]


# --- a language model


class Scripted:
    """A mind that says what it was told to; the last thing again and again."""

    name = "scripted"

    def __init__(self, said: Sequence[Chosen | ModelError]) -> None:
        self._said = list(said)
        self.heard: list[str] = []
        """What was told for each proposal; where it takes two questions, for the first."""
        self.grounding: list[Ask] = []
        """The second questions."""

    def ask(self, ask: Ask, answer: type[Any], budget: Budget) -> Reply[Any]:
        (self.grounding.append(ask) if answer is Grounded else self.heard.append(ask.content))
        budget.sent()
        if sentence := budget.spent():
            raise ModelError("budget", sentence)
        said = self._said[0]
        if answer is not Intended and len(self._said) > 1:
            self._said.pop(0)
        if isinstance(said, ModelError):
            raise said
        match answer:
            case _ if answer is Intended:
                template = "add cycle" if said.kind == "pour" else "measure cycle"
                return Reply(Intended(said.intent, template, said.follows[:1]), (), ask.prompt.identity)
            case _ if answer is Grounded:
                return Reply(Grounded(said.kind, said.item, said.numbers, said.follows[1:]), (), ask.prompt.identity)
        assert answer is Chosen
        return Reply(said, (), ask.prompt.identity)


@pytest.mark.parametrize("steps", ["two", "one"])
def test_a_language_model_is_told_what_was_refused_and_acts_through_the_same_gate(tmp_path: Path, steps: Steps) -> None:
    said = [
        Chosen("read", "measure", numbers=(Number("seconds", 60.0),)),
        Chosen("take it first", "take_probe"),
        Chosen("read", "measure", numbers=(Number("seconds", 60.0), Number("volts", 3.0))),
        Chosen("read", "measure", numbers=(Number("seconds", 60.0),)),
        Chosen("clean", "rinse_probe"),
        Chosen("back", "return_probe"),
        Chosen("no more", ABANDON),
    ]
    mind = Scripted(said)
    operator = LanguageMind(mind, METHODS["inner-only"], steps=steps)
    made = Agent(operator, "inner-only")
    result = run(made, tmp_path)
    assert result.status == "scored" and result.reason == "stopped"
    assert [each.admitted for each in made.gate.rulings] == [False, True, False, True, True, True, True]
    assert made.trial is not None and [move.proposal.intent for move in made.trial.moves] == [
        each.intent for each in said
    ]
    assert "Just refused: measure probe beaker (seconds 60) breaks probe_in_hand" in mind.heard[1]
    assert "hand_kind = none, mixed = true" in mind.heard[0]
    assert "checkpoint 1" in mind.heard[4] and "beaker ph: 7." in mind.heard[4]
    assert operator.budget.requests == len(said) * (2 if steps == "two" else 1)


def test_an_action_is_grounded_in_the_intent_with_the_actions_of_its_template(tmp_path: Path) -> None:
    mind = Scripted([Chosen("add 3 g of acid", "pour", "acid"), Chosen("no more", ABANDON)])
    made = Agent(LanguageMind(mind, METHODS["inner-only"]), "inner-only")
    run(made, tmp_path)
    first = mind.grounding[0]
    assert first.content == f"{mind.heard[0]}\nIntent: add 3 g of acid"
    listed, _, others = first.prompt.text.partition("Other actions")
    assert '"add cycle": pick > pour > place > stir' in listed
    assert "pour acid | base beaker (amount_g" in listed and "measure" not in listed
    assert "\nmeasure probe beaker\n" in others and ABANDON in others


def test_advice_counts_as_followed_whether_intent_or_action_names_it_and_only_if_it_was_shown(tmp_path: Path) -> None:
    told = Draft("strategy", (Term("objective", among=("ph",)),), Advice("Begin gently."))
    with Bank(MEMORY) as bank:
        bank.learn(
            Finished("t", True), [Teach(told), Teach(Draft("safety", (Term("kind", among=("pick",)),), Advice("No.")))]
        )
        shown = [entry.id for entry in bank.entries()]
        mind = Scripted(
            [Chosen("read", "take_probe", follows=(shown[1], shown[0], "skill-made-up-1")), Chosen("", ABANDON)]
        )
        made = Agent(LanguageMind(mind, METHODS["labevolver"]), "labevolver", WetMemory(bank).recall)
        run(made, tmp_path)
    assert made.trial is not None and made.trial.moves[0].proposal.follows == (shown[1], shown[0])
    assert "when objective = ph): Begin gently." in mind.heard[0] and "when kind = pick): No." in mind.heard[0]


def test_a_model_that_only_says_nonsense_is_given_up_after_a_number_of_refusals(tmp_path: Path) -> None:
    made = Agent(LanguageMind(Scripted([Chosen("boom", "explode")]), METHODS["inner-only"]), "inner-only")
    result = run(made, tmp_path)
    assert result.status == "scored" and len(made.gate.intercepts) == 24


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ModelError("rate_limited", "wait"), "unresolved", "invalid"),
        (ModelError("denied", "no such key"), "unresolved", "invalid"),
        (ModelError("rejected", "no such model"), "unresolved", "invalid"),
        (ModelError("setup", "no key"), "unresolved", "invalid"),
        (ModelError("not_recorded", "another prompt"), "unresolved", "invalid"),
        (ModelError("filtered", "withheld"), "scored", "interface_failure"),
        (ModelError("invalid", "no type"), "scored", "interface_failure"),
    ],
)
def test_a_failing_service_is_a_validity_event_and_an_unusable_answer_an_interface_failure(
    tmp_path: Path, error: ModelError, status: str, reason: str
) -> None:
    made = Agent(LanguageMind(Scripted([error]), METHODS["inner-only"]), "inner-only")
    result = run(made, tmp_path)
    assert (result.status, result.reason) == (status, reason)


def test_a_budget_ends_a_trial_and_the_next_one_has_a_fresh_one(tmp_path: Path) -> None:
    mind = Scripted([Chosen("take", "take_probe"), Chosen("look", "weigh")])
    operator = LanguageMind(mind, METHODS["inner-only"], Limits(requests=4))
    for number in range(2):
        result = run(Agent(operator, "inner-only"), tmp_path / str(number))
        assert result.reason == "interface_failure" and operator.budget.requests == 4


def test_a_model_may_follow_only_advice_that_it_was_given(tmp_path: Path) -> None:
    mind = Scripted([Chosen("take", "take_probe", follows=("skill-made-up-1",)), Chosen("", ABANDON)])
    made = Agent(LanguageMind(mind, METHODS["labevolver"]), "labevolver", WetMemory(Bank(MEMORY)).recall)
    run(made, tmp_path)
    assert made.trial is not None and made.trial.moves[0].proposal.follows == ()
    assert "Experience:\nnothing that fits" in mind.heard[0]


def test_there_is_no_other_method() -> None:
    with pytest.raises(ValueError, match="methods: act, react"):
        Agent(SymbolicMind(), "magic")


@pytest.mark.parametrize("method", ["react", "inner-only"])
def test_what_is_known_of_the_rules_never_makes_the_mind_take_and_put_back_in_turns(
    tmp_path: Path, method: str
) -> None:
    made = agent(method)
    run(made, tmp_path, index=27)
    kinds = [each.action.kind for each in made.gate.rulings if each.admitted]
    pairs = list(pairwise(kinds))
    assert ("take_probe", "return_probe") not in pairs and ("pick", "place") not in pairs


class Stubborn:
    """An operator that takes the probe and then proposes what does not exist, for ever."""

    name = "stubborn"

    def begin(self) -> None:
        self.taken = False

    def propose(self, context: Context) -> Proposal:
        kind, self.taken = ("nonsense", True) if self.taken else ("take_probe", True)
        return Proposal(kind, Action(kind, "", "") if kind == "nonsense" else action(kind))


def test_an_agent_whose_every_proposal_is_refused_puts_the_probe_back_and_stops(tmp_path: Path) -> None:
    made = Agent(Stubborn(), "inner-only")
    result = run(made, tmp_path)
    assert (result.status, result.reason) == ("scored", "stopped")
    admitted = [ruling.action.kind for ruling in made.gate.rulings if ruling.admitted]
    assert admitted == ["take_probe", "return_probe", ABANDON]
