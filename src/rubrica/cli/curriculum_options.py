"""The options of ``rubrica curriculum``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubrica.education.baseline import BASELINE
from rubrica.education.questions import MOST_QUESTIONS, Difficulty, QuestionType
from rubrica.education.school_grades import HIGHEST_GRADE

from .options import HOW, MODELS, WHAT, WHERE

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
    int | None,
    typer.Option("--max-skills", min=1, help="At most this many skills of each grade.", rich_help_panel=WHAT),
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
Hardness = Annotated[Difficulty, typer.Option("--difficulty", help="How hard.", rich_help_panel=WHAT)]
QuestionRubric = Annotated[
    str, typer.Option("--rubric", "-r", metavar="NAME|FILE", help="What they are judged by.", rich_help_panel=HOW)
]
WritingJobs = Annotated[
    int,
    typer.Option("--jobs", "-j", min=1, max=200, help="Skills or questions under way at once.", rich_help_panel=MODELS),
]
RunFolder = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="DIR", help="The run's folder, here or in a store (s3://…).", rich_help_panel=WHERE
    ),
]
KeptFolder = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Keep the run here; left out, its figures are only printed.",
        rich_help_panel=WHERE,
    ),
]  # fmt: skip
DefaultGrade = Annotated[
    int | None,
    typer.Option(
        "--grade", min=0, max=HIGHEST_GRADE, help="The grade of records that name none.", rich_help_panel=WHAT
    ),
]
BaselineOutput = Annotated[
    Path,
    typer.Option(
        "--baseline",
        metavar="FILE|off",
        help="Where finished runs are added, for `trend`; off: nowhere.",
        rich_help_panel=WHERE,
    ),
]
Questions = Annotated[
    Path,
    typer.Argument(metavar="QUESTIONS", help="A .jsonl, .json, .csv, .xlsx or .parquet file, a question a record."),
]
BaselinePath = Annotated[Path, typer.Argument(metavar="FILE", help="A baseline file.")]
DEFAULT_BASELINE = Path(BASELINE)
