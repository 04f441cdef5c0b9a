"""Where the files of a run lie: OUT/campaign.json says what was planned, OUT/episode-0007/attempt-1/ holds one attempt.

- run.json: resolved task and policy, seeds, hashes, settings, budgets
- events.jsonl: confirmed events, opportunities, choices
- observations.jsonl: delivered evidence, with acquisition and delivery times
- actions.jsonl: requested and applied commands, reports, stops
- requests.jsonl: receipts of what was sent to a remote system, with digests of what it took in
- calls.jsonl: what an agent called and was answered, images as digests
- interfaces.jsonl: what was said at state, decision, geometry and skill, what was so, and what support was given
- online_scores.jsonl: live snapshots
- measurements.bin: one row per physics tick
- scores.json: the verdict; present only when the attempt is finished
- shutdown.json: how the policy and the video encoders closed
- CAMERA.mp4: optional
"""

from __future__ import annotations

from pathlib import Path

RUN = "run.json"
EVENTS = "events.jsonl"
OBSERVATIONS = "observations.jsonl"
ACTIONS = "actions.jsonl"
CALLS = "calls.jsonl"
INTERFACES = "interfaces.jsonl"
REQUESTS = "requests.jsonl"
ONLINE = "online_scores.jsonl"
MEASUREMENTS = "measurements.bin"
SCORES = "scores.json"
SHUTDOWN = "shutdown.json"
CAMPAIGN = "campaign.json"
DIAGNOSIS = "diagnosis.json"
"""What a diagnosis is, in place of a campaign."""
LOCK = "run.lock"
"""There while a process runs episodes in the folder; what holds it is the kernel's lock, not the file."""
UNSUPPORTED = "unsupported.json"
"""In place of the attempts at a branch for which the tested system has no interface."""


def episode_folder(out: Path, index: int) -> Path:
    """Return the folder of episode `index`."""
    return out / f"episode-{index:04d}"


def attempts(episode: Path) -> list[Path]:
    """Return the attempt folders of an episode, oldest first."""
    return sorted(episode.glob("attempt-*"), key=_number)


def next_attempt(episode: Path) -> Path:
    """Return the folder for a further attempt; earlier ones are kept."""
    return episode / f"attempt-{max(map(_number, attempts(episode)), default=0) + 1}"


def finished(episode: Path) -> Path | None:
    """Return the newest attempt with committed scores, if any."""
    return next((path for path in reversed(attempts(episode)) if (path / SCORES).exists()), None)


def episodes(out: Path) -> list[Path]:
    """Return the episode folders of a campaign in order."""
    return sorted(out.glob("episode-*"), key=_number)


def runs_below(path: Path) -> list[Path]:
    """Return the attempt folders that `path` means: itself, an episode's newest finished, or a campaign's."""
    if (path / RUN).exists():
        return [path]
    inside = episodes(path) or ([path] if attempts(path) else [])
    return [found for found in (finished(episode) for episode in inside) if found is not None]


def campaigns_below(path: Path) -> list[Path]:
    """Return the campaigns that `path` means: itself, its direct subfolders, or the run it is."""
    if (path / CAMPAIGN).exists():
        return [path]
    return [entry.parent for entry in sorted(path.glob(f"*/{CAMPAIGN}"))] or [path]


def _number(path: Path) -> int:
    return int(path.name.partition("-")[2])
