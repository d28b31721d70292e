"""What ``rubrica curriculum`` says when questions are judged, and what it would ask."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rubrica.education.execute import CurriculumOutcome
from rubrica.model.evaluation import INCONCLUSIVE
from rubrica.report.figures import count_of, dollars
from rubrica.runs.events import RunEstimate
from rubrica.runs.files.folder import ERRORS

from .curriculum_tables import all_grades_table, grade_table
from .judge_options import estimate_sentence, estimate_table
from .run_end import print_next_steps
from .run_messages import done_now
from .screen import note, out
from .tally_tables import open_verdicts

if TYPE_CHECKING:
    from rubrica.llm.estimate import CostEstimate


def print_grades(outcome: CurriculumOutcome, noun: str, folder: Path, output: str | None) -> None:
    """The figures of each grade and of all of them, what was done, and what to look at next."""
    console, together = out(), outcome.summary
    if together is None:
        return
    for summary in together["grade_summaries"]:
        console.print(grade_table(summary, f"{noun}s"))
        console.print()
    console.print(all_grades_table(together, f"{noun}s"))
    console.print()
    undecided = together["aggregated_quality_distribution"][INCONCLUSIVE]
    if undecided and any(summary["offline_questions"] for summary in together["grade_summaries"]):
        console.print(open_verdicts(undecided, together["overall"]["total_questions"]))
        console.print()
    console.print(done_now(outcome.run), markup=False, soft_wrap=True)
    if outcome.writing_usd:
        console.print(f"writing: {dollars(outcome.writing_usd)}", markup=False)
    failed, unwritten = together["overall"]["failed_questions"], together["overall"]["failed_skills"]
    if failed:
        note(f"{count_of(failed, 'question')} got no score from the judge; --retry-errors asks again", "yellow")
    if unwritten:
        where = f"{folder}/{ERRORS} lists them" if output is not None else "-o DIR keeps a list of them"
        note(f"{count_of(unwritten, noun)} came to nothing; {where}", "yellow")
    if output is not None:
        console.print(f"results in {output}", markup=False, soft_wrap=True)
        print_next_steps(folder, output)


def print_estimate(judging: RunEstimate | None, writing: CostEstimate | None = None) -> None:
    """What a dry run counted."""
    console = out()
    if writing is not None:
        console.print(estimate_table([writing], "writes"))
    if judging is not None:
        console.print(estimate_table(judging.models, "judges"))
        console.print(estimate_sentence(judging))
    else:
        console.print("No model judges; nothing was asked.")
    if writing is not None and writing.calls and judging is not None:
        console.print("Questions that are not written yet are counted at a usual length.")
