"""One campaign as the page shows it: what was run, and its episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labference.records import folder
from labference.records.reader import RecordError, read_run
from labference.score.campaign import Campaign
from labference.score.conditions import varying, word
from labference.score.summary import Summary, summarise

from . import phrases
from .conditions import Breakdown, breakdown
from .episode import EpisodeView, Link, Shown, episode_view, link

FIRST = 6
"""The first episodes of a system, which get frames whatever their outcome."""
FRAMED, DRAWN = 72, 320
"""Most episodes of a page with key frames, and with a timeline: about 4 MB each."""
UNKNOWN = "not yet known"


@dataclass(frozen=True, slots=True)
class Crossing:
    """Episodes by the choice that the task is about: how many of them were completed and how many were not."""

    choice: str
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class System:
    """A campaign under the name that tells it apart on this page."""

    label: str
    anchor: str
    summary: Summary
    campaign: Campaign
    privileged: bool
    plan: Link
    condition: dict[str, str]
    episodes: tuple[EpisodeView, ...]

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """Return choice against completion over the scored episodes."""
        counts = Counter((episode.choice, episode.outcome) for episode in self.episodes)
        return tuple(
            Crossing(choice, counts[choice, "completed"], counts[choice, "failed"])
            for choice in ("correct", "wrong", "none", "unreached")
            if choice != "unreached" or counts[choice, "completed"] + counts[choice, "failed"]
        )

    @property
    def breakdown(self) -> Breakdown:
        """Return decisions and completion by condition."""
        return breakdown(self.summary)

    @property
    def instructed(self) -> bool:
        """Return whether instructions tell the episodes apart; otherwise their instances do."""
        return len({episode.goal for episode in self.episodes if episode.goal}) > 1

    @property
    def filmed(self) -> bool:
        """Return whether any episode has a video."""
        return any(episode.videos for episode in self.episodes)


def systems(campaigns: Sequence[Campaign], page: Path) -> tuple[System, ...]:
    """Return every campaign of a page to be written to `page`."""
    labels = phrases.distinct([(campaign.system, campaign.path) for campaign in campaigns])
    share = len(campaigns)
    return tuple(
        _system(campaign, label, f"system-{number}", page, share)
        for number, (campaign, label) in enumerate(zip(campaigns, labels, strict=True), start=1)
    )


def _system(campaign: Campaign, label: str, anchor: str, page: Path, share: int) -> System:
    summary, told = replace(summarise(campaign), system=label), varying(campaign)
    framed, drawn = (set(choice) for choice in _shown(campaign, share))
    episodes = tuple(
        episode_view(
            folder.episode_folder(campaign.path, index),
            index,
            f"{anchor}-episode-{index}",
            page,
            Shown(index in drawn, index in framed),
            decisive=summary.decisive,
            instance=", ".join(f"{field}: {word(values[index])}" for field, values in told.items() if index in values),
        )
        for index in range(campaign.planned)
    )
    run = _any_run(campaign)
    return System(
        label=label,
        anchor=anchor,
        summary=summary,
        campaign=campaign,
        privileged=bool(run.get("privileged")),
        plan=Link(folder.CAMPAIGN, link(campaign.path / folder.CAMPAIGN, page)),
        condition=_condition(campaign, run),
        episodes=episodes,
    )


def _shown(campaign: Campaign, share: int) -> tuple[list[int], list[int]]:
    """Return which episodes get frames and which a timeline: the first few, then every failed one, then the others."""
    everyone = range(campaign.planned)
    failed = [index for index in everyone if not _valid(campaign, index)]
    important = list(dict.fromkeys([*everyone[:FIRST], *failed]))
    return important[: max(1, FRAMED // share)], list(dict.fromkeys([*important, *everyone]))[: max(1, DRAWN // share)]


def _valid(campaign: Campaign, index: int) -> bool:
    return index in campaign.scores and bool(campaign.scores[index]["verdict"]["valid"])


def _any_run(campaign: Campaign) -> dict[str, Any]:
    """Return the first complete `run.json` of a campaign, empty where no attempt got so far."""
    for episode in folder.episodes(campaign.path):
        for attempt in reversed(folder.attempts(episode)):
            try:
                run = read_run(attempt).run
            except RecordError:
                continue
            if "identity" in run:
                return run
    return {}


def _condition(campaign: Campaign, run: dict[str, Any]) -> dict[str, str]:
    """Return the identity of a campaign in words, in the order in which people ask for it."""
    plan = campaign.condition
    identity = campaign.identity or run.get("identity", {})
    action = run.get("action", {})
    rate = f", {action['rate_hz']:g} Hz, {identity['action'][:12]}" if action else ""
    contract = run.get("contract", {})
    named = {
        "Task": f"{plan['task']}, version {identity.get('version', UNKNOWN)}",
        "Tested system": f"{identity.get('policy', plan['policy'])}",
        "Observations": identity.get("sensors", UNKNOWN),
        "Actions": f"{plan['action']}{rate}",
        "History": identity.get("history", UNKNOWN),
        "Intervention": identity.get("intervention", UNKNOWN),
        "Budget": f"{identity['budget']} control steps" if identity else UNKNOWN,
        "Response window": f"{contract['response_s']:g} s, {contract['response_clock']}" if contract else UNKNOWN,
        "Terminal dwell": f"{contract['dwell_s']:g} s" if contract else UNKNOWN,
        "Instances": identity.get("instances", plan.get("instances", "")) or "all strata",
        "Campaign seed": str(plan["seed"]),
        "Episodes planned": str(campaign.planned),
        "Laboratory": identity.get("fidelity", plan.get("fidelity", UNKNOWN)),
        "Physics": identity.get("physics", UNKNOWN),
        "Rendering": plan["render"],
        "Assets": identity.get("assets", UNKNOWN),
        "Task file": identity.get("contract", UNKNOWN),
        "Evaluation version": identity.get("evaluation", UNKNOWN),
    }
    return {field: str(value) for field, value in named.items()}
