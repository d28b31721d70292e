"""``rubrica curriculum``: questions for whole grades, written by a model or read from a file, and judged."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rubrica.education.baseline import BaselineFile
from rubrica.education.curriculum import bundled_curriculum, read_curriculum, select_skills
from rubrica.education.estimate import estimate_curriculum
from rubrica.education.execute import execute_curriculum
from rubrica.education.material import QuestionMaterial
from rubrica.education.questions import Difficulty, QuestionType
from rubrica.education.records import open_records
from rubrica.education.results import RUBRIC
from rubrica.education.writing import template
from rubrica.education.written import WritingTerms, WrittenMaterial
from rubrica.errors import RubricaError
from rubrica.runs.execute import estimate_run
from rubrica.runs.request import EVERY_CASE, CaseChoice, JudgeSettings, RunRequest
from rubrica.runs.selection import Selection, filter_of, sample_of

from .curriculum_messages import print_estimate, print_grades
from .curriculum_options import (
    DEFAULT_BASELINE,
    BaselineOutput,
    BaselinePath,
    CurriculumFile,
    DefaultGrade,
    Grades,
    Hardness,
    KeptFolder,
    Kind,
    MaxSkills,
    PerSkill,
    QuestionRubric,
    Questions,
    RunFolder,
    WriterName,
    WritingJobs,
)
from .curriculum_tables import skills_table, trend_table
from .finished_runs import OFF, add_finished_run, project_file
from .judge_options import VERDICT_FAILED, BudgetLimit, DryRun, Judges, Limit, Offline, judge_names
from .mapping_options import KeyBaseNumber, MapPairs, RecordsName, layout_of
from .options import SettingPairs
from .run_command_options import Filters, MostFailures, NoResume, RetryErrors, SampleSize
from .run_messages import RunScreen, end_if_stopped
from .screen import note, out
from .sources import rubric_of, settings_of

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Write and judge questions for every skill of a curriculum.",
    epilog="""[bold]Examples[/bold]
  rubrica curriculum run --grades 3 4 5 --model openai:gpt-4o-mini --max-skills 10
  rubrica curriculum evaluate questions.jsonl
  rubrica curriculum skills 3""",
)

OUTPUT = "evaluation_results"
_GRADES = re.compile(r"\d{1,2}(?:-\d{1,2})?(?:,\d{1,2}(?:-\d{1,2})?)*")

RUN_EXAMPLES = """[bold]Examples[/bold]
  rubrica curriculum run --grades 3 4 5 --model openai:gpt-4o-mini --max-skills 10
  rubrica curriculum run --grades 3-8 -m anthropic:claude-haiku-4-5 -J openai:gpt-4o -n 5 -o results/haiku
  rubrica curriculum run -g 4 --curriculum skills.csv -m local: --offline

Questions are written to DIR/questions.jsonl first, then judged. After any
interruption the same command resumes: no skill is written twice, none is missing,
skills that failed are tried again, and --retry-errors asks judges again that
failed. Another model, judge or rubric begins a new run, and the old one goes
to DIR/earlier. DIR is a run: summary, compare, explain, review and report read
it. Exit code 1: a skill came to no questions, or a judge failed."""

EVALUATE_EXAMPLES = """[bold]Examples[/bold]
  rubrica curriculum evaluate questions.jsonl
  rubrica curriculum evaluate questions.csv --grade 4 -J anthropic:claude-haiku-4-5 -o results/bank
  rubrica curriculum evaluate questions.csv -J anthropic:claude-haiku-4-5 --dry-run
  rubrica curriculum evaluate bank.xlsx --map question=Stem --map answer='Correct Answer' --key-base 1

A record has at least a question; options (a list, a map, or columns option_a,
option_b, …), answer, explanation, type, difficulty, grade, subject and skill
where there are any. A record is known by its id, or by what it says: another
order is the same run, and with one line more one line is judged. DIR is a run:
summary, compare, explain, review and report read it. A record that cannot be
judged is reported with its line, and the rest is judged; the exit code is then
1, and also if a judge failed."""


class ManyGrades(TyperCommand):
    """A command whose ``--grades`` takes all the numbers that follow it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread_grades(args))


def spread_grades(args: Sequence[str]) -> list[str]:
    """Arguments with an option of its own for every grade.

    >>> spread_grades(["--grades", "3", "4", "5-6", "--model", "local:"])
    ['--grades', '3', '--grades', '4', '--grades', '5-6', '--model', 'local:']
    """
    found: list[str] = []
    waiting = list(args)
    while waiting:
        arg = waiting.pop(0)
        found.append(arg)
        if arg == "--":
            return found + waiting
        if arg in ("--grades", "-g") and waiting:
            found.append(waiting.pop(0))
            while waiting and _GRADES.fullmatch(waiting[0]):
                found += [arg, waiting.pop(0)]
    return found


def grades_of(given: Sequence[str]) -> list[int]:
    """Grades as they were written, each once, in rising order.

    >>> grades_of(["3-5", "4", "8"])
    [3, 4, 5, 8]
    """
    found: set[int] = set()
    for text in given:
        if not _GRADES.fullmatch(text):
            raise typer.BadParameter(f"{text!r} is no grade (write 3, 3-5 or 3,5)", param_hint="--grades")
        for part in text.split(","):
            low, _, high = part.partition("-")
            if int(high or low) < int(low):
                raise typer.BadParameter(f"{part} runs backwards", param_hint="--grades")
            found |= set(range(int(low), int(high or low) + 1))
    return sorted(found)


@app.command(cls=ManyGrades, epilog=RUN_EXAMPLES)
def run(
    grades: Grades,
    model: WriterName,
    max_skills: MaxSkills = None,
    per_skill: PerSkill = 1,
    curriculum: CurriculumFile = None,
    kind: Kind = "mcq",
    difficulty: Hardness = "medium",
    rubric: QuestionRubric = RUBRIC,
    settings: SettingPairs = None,
    judge: Judges = None,
    budget: BudgetLimit = None,
    dry_run: DryRun = False,
    offline: Offline = False,
    jobs: WritingJobs = 4,
    max_failures: MostFailures = 20,
    retry_errors: RetryErrors = False,
    no_resume: NoResume = False,
    output: RunFolder = OUTPUT,
    baseline: BaselineOutput = DEFAULT_BASELINE,
) -> None:
    """Have a model write questions for every skill of some grades, and judge them."""
    skills = select_skills(
        bundled_curriculum() if curriculum is None else read_curriculum(curriculum), grades_of(grades), max_skills
    )
    judged_by, names = rubric_of(rubric, settings_of(settings or [])), judge_names(judge, offline=offline)
    options = int(judged_by.settings.get("option_count", 4))
    terms = WritingTerms(model, per_skill, kind, difficulty, options, jobs, max_failures)
    material = WrittenMaterial((), model, _baseline(output, baseline), skills=skills, writing=terms)
    request = RunRequest(
        CaseChoice(str(curriculum) if curriculum is not None else "the bundled curriculum", material=material),
        Path(),
        judged_by,
        JudgeSettings(tuple(names), budget=budget, jobs=jobs, cached=False),
        resume=not no_resume,
        retry_errors=retry_errors,
        max_failures=max_failures,
        terms=_terms(model, per_skill, kind, difficulty),
    ).kept_at(output)
    if dry_run:
        with RunScreen(output) as screen:
            estimate = estimate_curriculum(request, screen)
        print_estimate(estimate.judging, estimate.writing)
        return
    _execute(request, "skill", output, baseline)


@app.command(epilog=EVALUATE_EXAMPLES)
def evaluate(
    questions: Questions,
    grade: DefaultGrade = None,
    mapped: MapPairs = None,
    where: RecordsName = None,
    key_base: KeyBaseNumber = None,
    rubric: QuestionRubric = RUBRIC,
    settings: SettingPairs = None,
    filters: Filters = None,
    sample: SampleSize = None,
    limit: Limit = None,
    judge: Judges = None,
    budget: BudgetLimit = None,
    dry_run: DryRun = False,
    offline: Offline = False,
    jobs: WritingJobs = 16,
    max_failures: MostFailures = 20,
    retry_errors: RetryErrors = False,
    no_resume: NoResume = False,
    output: KeptFolder = None,
    baseline: BaselineOutput = DEFAULT_BASELINE,
) -> None:
    """Judge questions that exist already."""
    file = open_records(questions, grade, layout_of(mapped, where, key_base))
    for text in file.notes:
        note(text)
    found = list(file.records())
    if not found:
        raise RubricaError(f"{questions} holds no records")
    names = judge_names(judge, offline=offline)
    if not names and (budget is not None or dry_run):
        raise typer.BadParameter("goes with --judge MODEL", param_hint="--budget, --dry-run")
    chosen = Selection(
        tuple(map(filter_of, filters or [])), sample_of(sample, seed=0) if sample is not None else None, limit
    )
    kept = _baseline(output, baseline) if chosen == EVERY_CASE else None
    with ExitStack() as stack:
        request = RunRequest(
            CaseChoice(
                str(questions),
                chosen,
                layout=file.layout,
                material=QuestionMaterial(found, ", ".join(names) or "offline", kept),
            ),
            Path(),
            rubric_of(rubric, settings_of(settings or [])),
            JudgeSettings(tuple(names), budget=budget, jobs=jobs, cached=False),
            resume=not no_resume,
            retry_errors=retry_errors,
            max_failures=max_failures,
        ).kept_at(output or stack.enter_context(tempfile.TemporaryDirectory()))
        if dry_run:
            with RunScreen(request.folder) as screen:
                estimate = estimate_run(request, screen)
            print_estimate(estimate)
            return
        _execute(request, "record", output, baseline)


@app.command()
def skills(grades: Annotated[list[str] | None, typer.Argument(metavar="N …", help="Grades; all, if left out.")] = None,
           curriculum: CurriculumFile = None) -> None:  # fmt: skip
    """List the skills of a curriculum."""
    known = bundled_curriculum() if curriculum is None else read_curriculum(curriculum)
    wanted = grades_of(grades) if grades else sorted({skill.grade for skill in known})
    out().print(skills_table(select_skills(known, wanted)))


@app.command()
def trend(path: BaselinePath = DEFAULT_BASELINE) -> None:
    """Show how kept evaluations moved; exit with 100 if the newest fell beyond noise, or the last ten went down."""
    file = BaselineFile(path)
    found, fallen, sinking = file.trends(), file.regressions(), file.declines()
    if not found:
        adding = "finished runs are added, and `evaluate_response` adds with update_baseline=True"
        raise RubricaError(f"{path} keeps no evaluations yet ({adding})")
    out().print(trend_table(found))
    for said, trends in (("the newest fell beyond noise", fallen), ("falling over the last runs", sinking)):
        if trends:
            note(f"{said}: {', '.join(trend.name for trend in trends)}", "bold red")
    if fallen or sinking:
        raise typer.Exit(VERDICT_FAILED)


def _execute(request: RunRequest, noun: str, output: str | None, baseline: Path) -> None:
    """Do the work, and tell the figures of each grade and of all; exit with 1 where something came to nothing."""
    with RunScreen(output or request.folder) as screen:
        outcome = execute_curriculum(request, screen)
    end_if_stopped(outcome.run)
    print_grades(outcome, noun, request.folder, output)
    if outcome.failed:
        raise typer.Exit(1)
    if output is not None and str(baseline) != OFF and request.cases.selection == EVERY_CASE:
        add_finished_run(request.folder, project_file())


def _baseline(output: str | None, path: Path) -> BaselineFile | None:
    """Where a finished run is added; what is not kept is not added either."""
    is_off = str(path) == OFF or (path == DEFAULT_BASELINE and project_file() == OFF)
    return BaselineFile(path) if output is not None and not is_off else None


def _terms(model: str, per_skill: int, kind: QuestionType, difficulty: Difficulty) -> dict[str, Any]:
    asked = {"questions per skill": per_skill, "type": kind, "difficulty": difficulty}
    return {"model": model, **asked, "prompt": template().hash[:12]}
