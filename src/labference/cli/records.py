"""`labference score`, `audit` and `report`: what records say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import DIFFERENT, Folder, console, errors, one_sentence
from .diagnosis import print_diagnosis


def score(path: Folder) -> None:
    """Print choice, execution and completion of one campaign, or of several side by side; or what a diagnosis found."""
    with one_sentence():
        from labference.score.diagnosis import find_diagnoses, is_diagnosis

        if is_diagnosis(path):
            for diagnosis in find_diagnoses(path):
                print_diagnosis(diagnosis)
            return
        from labference.report.tables import conditions_table, levels_table, results_table
        from labference.score.campaign import find_campaigns
        from labference.score.summary import summarise

        summaries = [summarise(campaign) for campaign in find_campaigns(path)]
        console.print(results_table(summaries))
        console.print(levels_table(summaries))
        for summary in summaries:
            console.print(conditions_table(summary, titled=len(summaries) > 1))


def audit(path: Folder) -> None:
    """Replay saved measurements through the same contract; exit 1 at the first difference."""
    with one_sentence():
        from rich.progress import track

        from labference.records.folder import campaigns_below, runs_below
        from labference.records.reader import RecordError
        from labference.report.tables import audit_table
        from labference.score.audit import audit as replay
        from labference.score.diagnosis import attempts, is_diagnosis

        below = [run for folder in campaigns_below(path) for run in runs_below(folder)]
        runs = attempts(path) if is_diagnosis(path) else below
        if not runs:
            raise RecordError(f"No finished episode in {path}; give a folder that `labference run` wrote.")
        audits = []
        for attempt in track(runs, description="Replaying", console=console, transient=True):
            audits.append(replay(attempt))
            if audits[-1].difference:
                break
        console.print(audit_table(audits))
    if audits[-1].difference:
        errors.print(f"{audits[-1].path}: {audits[-1].difference}", soft_wrap=True)
        raise typer.Exit(DIFFERENT)


def report(
    path: Folder, out: Annotated[Path | None, typer.Option(help="Page to write (PATH/report.html).")] = None
) -> None:
    """Write one page with tables, plots, frames and videos, or with what a diagnosis found."""
    with one_sentence():
        from labference.report.page import write_diagnoses, write_report
        from labference.score.diagnosis import is_diagnosis

        write = write_diagnoses if is_diagnosis(path) else write_report
        console.print(f"Report: {write(path, out)}")
