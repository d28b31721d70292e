"""``rubrica curriculum``: questions for whole grades, written by a model or read from a file, and judged."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rubrica.education.baseline import BASELINE, BaselineFile
from rubrica.education.curriculum import bundled_curriculum, read_curriculum, select_skills
from rubrica.education.evaluator import RUBRIC
from rubrica.education.execute import CurriculumRequest, CurriculumSession, Pieces, execute_curriculum
from rubrica.education.questions import MOST_QUESTIONS, Difficulty, QuestionType
from rubrica.education.records import open_records
from rubrica.education.school_grades import HIGHEST_GRADE
from rubrica.education.work import CurriculumTerms, CurriculumWork, RecordWork, SkillWork
from rubrica.education.writing import Writer, template
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.files.folder import ERRORS
from rubrica.runs.request import JudgeSettings

from .curriculum_messages import CurriculumScreen, summary_of
from .curriculum_tables import all_grades_table, grade_table, skills_table, trend_table
from .judge_options import VERDICT_FAILED, Judges, Offline, judge_names
from .mapping_options import KeyBaseNumber, MapPairs, RecordsName, layout_of
from .options import HOW, MODELS, WHAT, WHERE, SettingPairs
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

Grades = Annotated[
    list[str],
    typer.Option(
        "--grades", "-g", metavar="N …", help="Grades: 3 4 5, 3-5 or 3,5; kindergarten is 0.", rich_help_panel=WHAT
    ),
]
WriterName = Annotated[
    str,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="The model that writes, such as openai:gpt-4o-mini or local:.",
        rich_help_panel=MODELS,
    ),
]  # fmt: skip
MaxSkills = Annotated[
    int | None, typer.Option("--max-skills", min=1, help="At most so many skills of each grade.", rich_help_panel=WHAT)
]
PerSkill = Annotated[
    int,
    typer.Option(
        "--questions-per-skill", "-n", min=1, max=MOST_QUESTIONS, help="Questions for each skill.", rich_help_panel=WHAT
    ),
]
CurriculumFile = Annotated[
    Path | None,
    typer.Option(
        "--curriculum",
        metavar="FILE",
        help="Skills as .jsonl or .csv with grade and lesson_title; left out, the bundled ones.",
        rich_help_panel=WHAT,
    ),
]
Kind = Annotated[QuestionType, typer.Option("--type", help="The type of question.", rich_help_panel=WHAT)]
Level = Annotated[Difficulty, typer.Option("--difficulty", help="How hard.", rich_help_panel=WHAT)]
RubricName = Annotated[
    str, typer.Option("--rubric", "-r", metavar="NAME|FILE", help="What they are judged by.", rich_help_panel=HOW)
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", min=1, max=200, help="Skills or records under way at once.", rich_help_panel=MODELS),
]
NoResume = Annotated[
    bool, typer.Option("--no-resume", help="Begin anew; the run that is there goes to earlier/.", rich_help_panel=WHERE)
]
Folder = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The run's folder.", rich_help_panel=WHERE)]
KeptFolder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Keep records and summaries here; left out, they are only told.",
        rich_help_panel=WHERE,
    ),
]  # fmt: skip
DefaultGrade = Annotated[
    int | None,
    typer.Option(
        "--grade", min=0, max=HIGHEST_GRADE, help="The grade of records that name none.", rich_help_panel=WHAT
    ),
]
Questions = Annotated[
    Path,
    typer.Argument(metavar="QUESTIONS", help="A .jsonl, .json, .csv, .xlsx or .parquet file, a question a record."),
]
BaselinePath = Annotated[Path, typer.Argument(metavar="FILE", help="A baseline file.")]

RUN_EXAMPLES = """[bold]Examples[/bold]
  rubrica curriculum run --grades 3 4 5 --model openai:gpt-4o-mini --max-skills 10
  rubrica curriculum run --grades 3-8 -m anthropic:claude-haiku-4-5 -J openai:gpt-4o -n 5 -o results/haiku
  rubrica curriculum run -g 4 --curriculum skills.csv -m local: --offline

Stopped by whatever, the same command goes on: no skill is done twice, none is
missing, and skills that failed are tried again. Another model, judge or rubric
begins a new run, and the old one goes to DIR/earlier. Exit code 1: a skill
came to no questions."""

EVALUATE_EXAMPLES = """[bold]Examples[/bold]
  rubrica curriculum evaluate questions.jsonl
  rubrica curriculum evaluate questions.csv --grade 4 -J anthropic:claude-haiku-4-5 -o results/bank
  rubrica curriculum evaluate bank.xlsx --map question=Stem --map answer='Correct Answer' --key-base 1

A record has at least a question; options (a list, a map, or columns option_a,
option_b, …), answer, explanation, type, difficulty, grade, subject and skill
where there are any. What cannot be judged is told with its line, and the rest
goes on; the exit code is then 1."""


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
    difficulty: Level = "medium",
    rubric: RubricName = RUBRIC,
    settings: SettingPairs = None,
    judge: Judges = None,
    offline: Offline = False,
    jobs: Jobs = 4,
    no_resume: NoResume = False,
    output: Folder = Path(OUTPUT),
) -> None:
    """Have a model write questions for every skill of some grades, and judge them."""
    wanted = grades_of(grades)
    skills = select_skills(
        bundled_curriculum() if curriculum is None else read_curriculum(curriculum), wanted, max_skills
    )
    judged_by = rubric_of(rubric, settings_of(settings or []))
    names = judge_names(judge, offline=offline)
    asked = {"questions per skill": per_skill, "type": kind, "difficulty": difficulty}
    request = CurriculumRequest(
        str(curriculum) if curriculum is not None else "the bundled curriculum",
        output,
        judged_by,
        JudgeSettings(tuple(names), jobs=jobs, cached=False),
        {"model": model, **asked, "prompt": template().hash[:12]},
        wanted,
        model,
        resume=not no_resume,
    )
    terms = CurriculumTerms(per_skill, kind, difficulty)

    def work(session: CurriculumSession) -> list[CurriculumWork]:
        writer = Writer(session.writing(), int(judged_by.settings.get("option_count", 4)))
        return [SkillWork(skill, writer, session.evaluator, terms) for skill in skills]

    _execute(request, work, "skill", output)


@app.command(epilog=EVALUATE_EXAMPLES)
def evaluate(
    questions: Questions,
    grade: DefaultGrade = None,
    mapped: MapPairs = None,
    where: RecordsName = None,
    key_base: KeyBaseNumber = None,
    rubric: RubricName = RUBRIC,
    settings: SettingPairs = None,
    judge: Judges = None,
    offline: Offline = False,
    jobs: Jobs = 16,
    no_resume: NoResume = False,
    output: KeptFolder = None,
) -> None:
    """Judge questions that exist already."""
    file = open_records(questions, grade, layout_of(mapped, where, key_base))
    for text in file.notes:
        note(text)
    found = list(file.records())
    if not found:
        raise RubricaError(f"{questions} holds no records")
    names = judge_names(judge, offline=offline)
    judged_by = rubric_of(rubric, settings_of(settings or []))
    with ExitStack() as stack:
        request = CurriculumRequest(
            str(questions),
            output or Path(stack.enter_context(tempfile.TemporaryDirectory())),
            judged_by,
            JudgeSettings(tuple(names), jobs=jobs, cached=False),
            {"questions": _digest(questions), **file.layout.options},
            sorted({record.grade for record in found}, key=lambda grade: (grade is None, grade)),
            resume=not no_resume,
            is_kept=output is not None,
        )
        _execute(request, lambda session: [RecordWork(one, session.evaluator) for one in found], "record", output)


@app.command()
def skills(grades: Annotated[list[str] | None, typer.Argument(metavar="N …", help="Grades; all, if left out.")] = None,
           curriculum: CurriculumFile = None) -> None:  # fmt: skip
    """List the skills of a curriculum."""
    known = bundled_curriculum() if curriculum is None else read_curriculum(curriculum)
    wanted = grades_of(grades) if grades else sorted({skill.grade for skill in known})
    out().print(skills_table(select_skills(known, wanted)))


@app.command()
def trend(path: BaselinePath = Path(BASELINE)) -> None:
    """Show how kept evaluations moved; exit with 100 if the newest fell beyond noise."""
    file = BaselineFile(path)
    found = file.trends()
    if not found:
        raise RubricaError(f"{path} keeps no evaluations yet (evaluate_response adds one with update_baseline=True)")
    out().print(trend_table(found))
    if file.regressions():
        raise typer.Exit(VERDICT_FAILED)


def _execute(request: CurriculumRequest, work: Pieces, noun: str, folder: Path | None) -> None:
    """Do the work, and tell the figures of each grade and of all; exit with 1 where a piece came to nothing."""
    with CurriculumScreen(noun) as screen:
        outcome = execute_curriculum(request, work, screen)
    console, together = out(), summary_of(outcome)
    for summary in together["grade_summaries"]:
        console.print(grade_table(summary, f"{noun}s"))
        console.print()
    console.print(all_grades_table(together, f"{noun}s"))
    if folder is not None:
        console.print(f"\nresults in {folder}", markup=False, soft_wrap=True)
    if outcome.failed:
        where = f"{folder}/{ERRORS} lists them" if folder is not None else "-o DIR keeps a list of them"
        note(f"{count_of(outcome.failed, noun)} came to nothing; {where}", "yellow")
        raise typer.Exit(1)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise RubricaError(f"{path} cannot be read: {error.strerror}") from None
