"""``rubrica review``: people score a sample of a run, and the judge is held against them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.model.few_shot import MOST_EXAMPLES
from rubrica.model.rubric import Rubric
from rubrica.packs.library import find
from rubrica.report.figures import count_of, figure, percent, signed
from rubrica.runs.review.agreement import QuestionAgreement, VerdictAgreement, agreements, labels, verdict_agreement
from rubrica.runs.review.opinions import BadRecord, ReviewedRun, read_filled, read_reviews
from rubrica.runs.review.people_examples import people_examples
from rubrica.runs.review.questions import Form, sheet_html, sheet_markdown, write_review
from rubrica.runs.review.sampling import STRATA, DrawnEvaluation, draw
from rubrica.runs.stored import StoredRun

from .figures_table import FiguresTable
from .options import AsJson, Force
from .output_files import atomic_text_file, refuse_same
from .rater_pair_tables import labels_lines, legend, scores_table
from .review_examples import examples_report, write_examples
from .screen import echo_json, note, out, program, safe, short
from .sources import rubric_of

if TYPE_CHECKING:
    from .review_queue import ReviewQueue

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Let people score a sample of a run, and compare the judge with them.",
    epilog="""[bold]Examples[/bold]
  rubrica review sample runs/monday --share 0.10 -o review.csv
  rubrica review import review.csv --run runs/monday""",
)

FORMS: Mapping[str, Form] = {".jsonl": "jsonl", ".csv": "csv"}
SPREAD = ",".join(STRATA)
MOST_TOLD = 50
MOST_STRATA = 40
FEWEST = 20
"""Labelled evaluations that calibration needs of a dimension."""

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or a file of stored evaluations.")]
RunOption = Annotated[
    str, typer.Option("--run", metavar="RUN", help="The run the sample was drawn from: its folder, or its file.")
]
Share = Annotated[float, typer.Option("--share", metavar="SHARE", help="How much of the run to review, 0 to 1.")]
By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="NAME,…",
        help="What the sample is spread over: rubric, verdict, score, doubt, profile, band, or any metadata of cases.",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed of the sample: the same number draws the same sample.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="REVIEW.jsonl|.csv",
        help="The file that reviewers fill in; with --database it may be left out.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="FILE.html|.md",
        help="What reviewers read beside it: questions and anchors; as HTML also the texts. Left out: beside the file.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Show reviewers the judge's scores; without it they score blind.")]
DatabasePlace = Annotated[
    str | None,
    typer.Option("--database", "--db", metavar="FILE|URL", help="A server's database that has the review queue."),
]
Reviewers = Annotated[
    str | None,
    typer.Option(
        "--reviewers",
        metavar="NAME,…|everyone",
        help="Who may score it in the studio: people by name, or everyone with the role player. Left out: as before, "
        "and of a run that is new there admins only.",
    ),
]
Rubrics = Annotated[
    list[str] | None,
    typer.Option(
        "--rubric", "-r", metavar="NAME|FILE", help="The rubric, where the run does not hold it; may be repeated."
    ),
]
Files = Annotated[
    list[str] | None, typer.Argument(metavar="FILE…", help="Review files that people filled in, JSON Lines or CSV.")
]
Reviewer = Annotated[
    str | None,
    typer.Option(
        "--reviewer", metavar="NAME", help="Whose records they are where they do not say. Else: the file's name."
    ),
]
Labels = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="LABELS.jsonl", help="Write labels for `rubrica calibrate` to this file."),
]
Examples = Annotated[
    str | None,
    typer.Option(
        "--examples",
        metavar="RUBRIC.yaml",
        help="Write the rubric to this file with examples for its judge: responses on which people agree, those that "
        "the judge missed first.",
    ),
]
Most = Annotated[
    int, typer.Option("--most", metavar="N", min=1, max=MOST_EXAMPLES, help="Examples a dimension, with --examples.")
]
SAMPLE_EXAMPLES = """[bold]Examples[/bold]
  rubrica review sample runs/week12 -o review.csv
  rubrica review sample runs/week12 --share 0.2 --by verdict,grade -o review.jsonl
  rubrica review sample runs/week12 --database rubrica.db --reviewers ann,bob

The sample takes a share of every stratum, and at least one of each: verdict,
quarter of full marks, and whether the evaluation is doubtful (low confidence,
judges apart, something not scored). It is the same sample every time."""
IMPORT_EXAMPLES = """[bold]Examples[/bold]
  rubrica review import ann.csv bob.csv --run runs/week12
  rubrica review import ann.csv bob.csv --run runs/week12 -o labels.jsonl
  rubrica review import --run runs/week12 --database rubrica.db
  rubrica review import ann.csv --run runs/week12 --examples shown.yaml

Alpha is Krippendorff's: 1 is perfect agreement, 0 what chance gives. A
difference above 0 means that the judge is kinder than people. Levelled are
both alphas, judge and people, without each person's harshness and spread. A
record that cannot be used is reported, and the others are used; the exit code
is then 1."""


# --- drawing a sample -------------------------------------------------------------------------------------


@app.command(epilog=SAMPLE_EXAMPLES)
def sample(
    run: RunArgument,
    output: Output = None,
    share: Share = 0.1,
    by: By = SPREAD,
    seed: Seed = 0,
    sheet: Sheet = None,
    show_judge: Open = False,
    database: DatabasePlace = None,
    reviewers: Reviewers = None,
    rubrics: Rubrics = None,
    force: Force = False,
) -> None:
    """Draw a stratified sample of a run into a file for people to fill in."""
    if output is None and database is None:
        raise typer.BadParameter("name a file to fill in, or a database with --database", param_hint="--output")
    if output is None and (sheet is not None or show_judge):
        raise typer.BadParameter("goes with --output", param_hint="--sheet, --open")
    if database is None and reviewers is not None:
        raise typer.BadParameter("goes with --database", param_hint="--reviewers")
    files = _files(output, sheet) if output is not None else None
    for place in files or ():
        refuse_same(place, run)
    stored = StoredRun.open(run)
    known = _known(stored, rubrics)
    drawn = draw(stored.evaluations, share, by=[name.strip() for name in by.split(",") if name.strip()], seed=seed)
    if not drawn:
        raise RubricaError(f"{run} holds no evaluation to review")
    if files is not None:
        form, texts = FORMS[_end(files.review)], sheet_html if _end(files.sheet) == ".html" else sheet_markdown
        with atomic_text_file(files.review, force=force) as file, atomic_text_file(files.sheet, force=force) as page:
            page.write(texts(drawn, known, Path(files.review).name))
            write_review(drawn, known, file, form, show_judge=show_judge)
    added = None if database is None else _queue(database).add(stored, drawn, known, reviewers)
    out().print(_drawn_page(drawn, files, added, _way_back(run, files, database, rubrics)))


class _Files(NamedTuple):
    """The files of a sample."""

    review: str
    sheet: str


def _files(output: str, sheet: str | None) -> _Files:
    if _end(output) not in FORMS:
        raise typer.BadParameter("its name ends in .jsonl or .csv", param_hint="--output")
    beside = sheet or str(Path(output).with_suffix(".html"))
    if _end(beside) not in (".html", ".md"):
        raise typer.BadParameter("its name ends in .html or .md", param_hint="--sheet")
    refuse_same(output, beside)
    return _Files(output, beside)


def _end(file: str) -> str:
    return Path(file).suffix.lower()


def _way_back(run: str, files: _Files | None, database: str | None, rubrics: Sequence[str] | None) -> str:
    """The command that reads scores back."""
    place = [files.review] if files is not None else ["--database", str(database)]
    named = [word for name in rubrics or () for word in ("-r", name)]
    return shlex.join([*program().split(), "review", "import", *place, "--run", run, *named, "-o", "labels.jsonl"])


def _drawn_page(drawn: Sequence[DrawnEvaluation], files: _Files | None, added: int | None, back: str) -> Group:
    table = FiguresTable()
    table.add_column("stratum", overflow="fold")
    table.add_column("drawn", justify="right", no_wrap=True)
    counts = Counter(one.stratum for one in drawn)
    for stratum in sorted(counts)[:MOST_STRATA]:
        table.add_row(safe(stratum), f"{counts[stratum]:,}")
    if len(counts) > MOST_STRATA:
        table.add_row(f"… and {len(counts) - MOST_STRATA:,} more strata", "")
    parts: list[RenderableType] = [table, Text()]
    many = count_of(len(drawn), "evaluation")
    if files is not None:
        parts.append(Text.assemble(f"{many} in ", (safe(files.review), "bold"), " to be filled in"))
        parts.append(Text.assemble("questions and anchors in ", (safe(files.sheet), "bold")))
    else:
        parts.append(Text(f"{many} drawn"))
    if added is not None:
        parts.append(Text(f"{count_of(added, 'new item')} in the review queue of the database"))
    parts.append(Text(f"then: {back}", "dim"))
    return Group(*parts)


# --- reading scores back ----------------------------------------------------------------------------------


@app.command("import", epilog=IMPORT_EXAMPLES)
def import_scores(
    run: RunOption,
    files: Files = None,
    output: Labels = None,
    reviewer: Reviewer = None,
    database: DatabasePlace = None,
    rubrics: Rubrics = None,
    examples: Examples = None,
    most: Most = 6,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Read people's scores back, and show how far the judge agrees with them."""
    if not files and database is None:
        raise typer.BadParameter("name the review files that were filled in, or --database", param_hint="FILE…")
    for file in files or []:
        refuse_same(output, run, file)
        refuse_same(examples, run, file, output)
    stored = StoredRun.open(run)
    known = _known(stored, rubrics)
    filled = [record for file in files or [] for record in read_filled(file, reviewer)]
    if database is not None:
        filled = [*_queue(database).opinions(stored.name), *filled]
    found = read_reviews(filled, stored.evaluations(), known)
    _print_bad_records(found.bad)
    for one, other in found.doubles:
        note(f"{one} and {other} gave the same scores throughout: if that is one person, leave one out", "yellow")
    if not found.opinions:
        if found.bad and not found.empty:
            raise RubricaError("no record could be used, for the reasons given")
        raise RubricaError(f"nobody filled anything in: {count_of(found.empty, 'record')} without a score")
    kept = None
    if database is not None and files:
        kept = _queue(database).keep(stored.name, list(found.opinions.values()))
    measured, verdicts = agreements(found, known), verdict_agreement(found, known)
    written = _write_labels(output, labels(found, known), force) if output is not None else {}
    following = [_Calibration.of(path, reference, rubrics) for path, reference in written.items()]
    shown = write_examples(examples, people_examples(found, known, most), known, force=force) if examples else {}
    if as_json:
        told = {"examples": {axis: [one.case for one in own] for axis, own in shown.items()}} if examples else {}
        echo_json(_plain(found, measured, verdicts, following) | told)
    else:
        out().print(_page(found, measured, verdicts))
        for line in (*_next(output, following, kept), *(examples_report(examples, shown) if examples else ())):
            out().print(Text(safe(line)), soft_wrap=True)
    if found.bad:
        raise typer.Exit(1)


def _write_labels(output: str, lines: Mapping[str, Sequence[str]], force: bool) -> dict[str, str]:
    """A file per rubric, since one is calibrated at a time; their names, and the rubric of each."""
    path = Path(output)
    places = {
        reference: path.with_name(f"{path.stem}.{reference.partition('@')[0]}{path.suffix}") for reference in lines
    }
    if len(lines) == 1:
        places = dict.fromkeys(lines, path)
    for reference, own in lines.items():
        with atomic_text_file(str(places[reference]), force=force) as file:
            file.writelines(line + "\n" for line in own)
    return {str(place): reference for reference, place in places.items()}


class _Calibration(NamedTuple):
    """What may be done next with a file of labels: `rubrica calibrate`, with the rubric they are of."""

    labels: str
    reference: str
    rubric: str  # a name, or a file, which is a guess where none was given

    @classmethod
    def of(cls, labels: str, reference: str, given: Sequence[str] | None) -> _Calibration:
        name = reference.partition("@")[0]
        if find(reference) is not None:
            return cls(labels, reference, name)
        file = next((file for file in given or [] if rubric_of(file).name == name), f"{name}.yaml")
        return cls(labels, reference, file)

    @property
    def command(self) -> str:
        calibrated = f"{self.reference.partition('@')[0]}-calibrated.yaml"
        return shlex.join([*program().split(), "calibrate", self.labels, "-r", self.rubric, "-o", calibrated])

    @property
    def is_guess(self) -> bool:
        return find(self.reference) is None and not Path(self.rubric).is_file()


def _next(output: str | None, following: Sequence[_Calibration], kept: int | None) -> Iterator[str]:
    if kept is not None:
        yield f"{count_of(kept, 'opinion')} kept in the database"
    if output is None:
        yield "-o labels.jsonl writes labels for `rubrica calibrate`"
    elif not following:
        yield "no labels were written: nothing that people scored was scored by a judge"
    for each in following:
        yield f"labels in {each.labels}; next: {each.command}"
        if each.is_guess:
            yield f"{each.rubric} stands for the file of {each.reference}: put its name there"


def _plain(
    found: ReviewedRun,
    measured: Sequence[QuestionAgreement],
    verdicts: VerdictAgreement,
    following: Sequence[_Calibration],
) -> dict[str, Any]:
    return {
        "evaluations": len({opinion.item for opinion in found.opinions.values()}),
        "opinions": len(found.opinions),
        "reviewers": found.reviewers,
        "empty": found.empty,
        "replaced": found.replaced,
        "bad": [str(record) for record in found.bad],
        "questions": [one.plain for one in measured],
        "verdicts": verdicts.labels.plain,
        "calibrate": [each.command for each in following],
    }


def _page(found: ReviewedRun, measured: Sequence[QuestionAgreement], verdicts: VerdictAgreement) -> Group:
    items = len({opinion.item for opinion in found.opinions.values()})
    people = ", ".join(short(name, 40) for name in found.reviewers)
    pairs = scores_table(("judge, people",), [((one.question.name,), one.scores) for one in measured])
    parts: list[RenderableType] = [
        _figures(measured),
        Text(),
        pairs,
        Text(legend("the judge's score", "people's"), "dim"),
        Text(),
    ]
    parts.append(Text(f"{count_of(items, 'evaluation')} scored by {people}"))
    if verdicts.count:
        parts.append(Text(f"the same verdict as the judge's: {verdicts.same:,} of {verdicts.count:,}"))
        most = sorted(verdicts.others.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
        parts += [Text(f"  judge {safe(judge)}, people {safe(own)}: {count:,}", "dim") for (judge, own), count in most]
        parts += labels_lines(verdicts.labels)
    parts += _raters(measured)
    few = [one.question.title for one in measured if one.count < FEWEST]
    if few:
        parts.append(Text(f"fewer than {FEWEST} to calibrate by: {', '.join(few)}", "dim"))
    if found.empty:
        parts.append(Text(f"{count_of(found.empty, 'record')} without a score left out", "dim"))
    if found.replaced:
        parts.append(Text(f"{count_of(found.replaced, 'opinion')} replaced by a later one of the same person", "dim"))
    return Group(*parts)


def _figures(measured: Sequence[QuestionAgreement]) -> Table:
    table = FiguresTable()
    several = len({one.rubric for one in measured}) > 1
    if several:
        table.add_column("rubric", overflow="fold")
    table.add_column("dimension", overflow="fold")
    for heading in ("n", "alpha", "judge − people", "same", "within", "people n", "people alpha", "levelled"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in measured:
        near = f"{percent(one.near)} ({figure(one.step)})" if one.near is not None else "—"
        difference = signed(round(one.difference, 2)) if one.difference is not None else "—"
        cells = [f"{one.count:,}", _alpha(one.alpha.value), difference, percent(one.exact), near]
        levelled = f"{_alpha(one.levelled.value)}, {_alpha(one.people_levelled.value)}" if one.raters else "—"
        cells += [f"{one.pairs:,}", _alpha(one.people.value), levelled]
        table.add_row(*([safe(one.rubric)] if several else []), safe(one.question.title), *cells)
    return table


def _raters(measured: Sequence[QuestionAgreement]) -> list[RenderableType]:
    """How harsh each person is, where several scored."""
    told: list[RenderableType] = []
    for one in measured:
        if one.raters:
            named = ", ".join(f"{short(name, 40)} {signed(round(offset, 2))}" for name, offset in one.raters.items())
            told.append(
                Text(f"{safe(one.question.title)}, kinder (above 0) or harsher than the others: {named}", "dim")
            )
    return told


def _alpha(value: float | None) -> str:
    return "—" if value is None else figure(round(value, 2))


def _print_bad_records(bad: Sequence[BadRecord]) -> None:
    """Each fault of a file once, with the line where it comes first."""
    first = {(record.file, record.reason): record for record in reversed(bad)}
    counts = Counter((record.file, record.reason) for record in bad)
    told = [record for record in bad if first[record.file, record.reason] is record]
    for record in told[:MOST_TOLD]:
        again = counts[record.file, record.reason] - 1
        note(f"{record} ({count_of(again, 'more line')} like it)" if again else str(record), "yellow")
    if len(told) > MOST_TOLD:
        note(f"and {len(told) - MOST_TOLD:,} more", "yellow")


# --- what both share --------------------------------------------------------------------------------------


def _known(run: StoredRun, names: Sequence[str] | None) -> dict[str, Rubric]:
    given = {loaded.name: loaded for loaded in map(rubric_of, names or [])}
    return run.rubrics() | given


def _queue(place: str) -> ReviewQueue:
    """The review queue of a database; loaded only now, for most reviews need none."""
    with requires("server", "--database"):
        from .review_queue import ReviewQueue
    return ReviewQueue(place)
