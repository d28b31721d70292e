"""``rubrica agreement``: how far judges agree over stored evaluations, and verdicts without their harshness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubrica.errors import RubricaError
from rubrica.judges.panel import AxisAgreement, axis_agreement
from rubrica.model.calibration import CalibrationFigures
from rubrica.model.evaluation import Evaluation, Vote
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, figure, people_around, signed
from rubrica.report.titles import dimension_title
from rubrica.runs.files.case_source import STDIN, lines_of
from rubrica.scoring.rater_pairs import ScoreAgreement, score_agreement

from .broken_lines import BrokenLines
from .drift import print_drift
from .figures_table import figures_table
from .levelling import Levelling, axes_of, judge_again, levelled_votes
from .options import AsJson, ForceOutput, Output, StoredArgument, rubric_option
from .output_files import STDOUT, json_lines, refuse_same
from .rater_pair_tables import legend, scores_table
from .screen import echo_json, note, out, safe
from .sources import rubric_of
from .stored import evaluations_file, stored_evaluations

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Level = Annotated[
    bool, typer.Option("--level", help="Remove each judge's harshness and spread, pool again, and judge again.")
]
RubricName = Annotated[
    str | None,
    rubric_option("The rubric to judge by again, for --level; a calibrated one shows how reliable each judge is."),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="EVALUATIONS",
        help="The same cases judged in another way: show how far answers and verdicts differ, such as those in batches "
        "from those one by one.",
    ),
]
EXAMPLES = """[bold]Examples[/bold]
  rubrica agreement results.jsonl
  rubrica agreement batched.jsonl --against one-by-one.jsonl
  rubrica agreement results.jsonl -r calibrated.yaml
  rubrica agreement results.jsonl --level -r my-rubric.yaml -o levelled.jsonl

Evaluations by several judges, or with repeats, carry votes:
  rubrica eval cases.jsonl -r my-rubric.yaml -J MODEL -J OTHER -o results.jsonl

Alpha is Krippendorff's: 1 is perfect agreement, 0 what chance gives. Spread
is the mean distance of the highest from the lowest judge. --level standardises
every judge's scores over the file and rescales them to the panel's mean and
spread; no model is asked."""


@app.command(epilog=EXAMPLES)
def agreement(
    stored: StoredArgument,
    level: Level = False,
    rubric: RubricName = None,
    against: Against = None,
    output: Output = None,
    force: ForceOutput = False,
    as_json: AsJson = False,
) -> None:
    """Show how far judges agree over stored evaluations."""
    if (level and rubric is None) or (output is not None and not level):
        raise typer.BadParameter("--level needs a rubric to judge by again (-r); -o goes with it")
    if level and stored == STDIN:
        raise typer.BadParameter("--level reads the evaluations twice; give a file, not standard input")
    refuse_same(output, stored, rubric)
    complaints = BrokenLines()
    if against is not None:
        if level:
            raise typer.BadParameter("--against compares two files as they are; leave --level out")
        print_drift(stored, against, complaints, rubric_of(rubric) if rubric is not None else None, as_json=as_json)
        return
    poll = VoteCounts()
    with lines_of(evaluations_file(stored)) as lines:
        found = axis_agreement(poll.taken(stored_evaluations(lines, complaints)))
    known = _reliability(rubric_of(rubric)) if rubric is not None else {}
    if not found and (level or not known or not poll.evaluations):
        raise RubricaError(_no_votes(stored, poll.evaluations))
    levelled = None
    if rubric is not None and level:
        levelled = levelled_votes(stored, rubric_of(rubric))
        with json_lines(output, force=force) if output is not None else nullcontext() as sink:
            judge_again(stored, levelled, sink, complaints)
    if as_json and output != STDOUT:
        echo_json(_plain(poll, found, levelled, output) | ({"reliability": _plain_reliability(known)} if known else {}))
    elif output == STDOUT and levelled is not None:
        note(levelled.description)
    else:
        by = rubric_of(rubric) if rubric is not None else None
        if found:
            out().print(_page(poll, found, AxisTitles(found, by), (levelled, output)))
        else:
            out().print(Text(_no_votes(stored, poll.evaluations)))
        if rubric is not None and not level:
            table = Group(Text(), _reliability_table(known, by), Text(OF_RELIABILITY, "dim"))
            out().print(table if known else Text(NO_LABELS, "dim"))
    if complaints.count:
        raise typer.Exit(1)


JudgePair = tuple[str, str]
MOST_PAIRED = 8
"""Judges of one evaluation that are compared two by two, the first by name."""
Reliability = Mapping[str, Mapping[str, CalibrationFigures]]
OF_RELIABILITY = (
    "RMSE, bias and rank correlation are of each judge's scores as it gave them. Nine in ten of people's lie so far "
    "from its score as it counts, which is the corrected one where the rubric corrects it."
)
NO_LABELS = "The rubric has no calibration, so how reliable each judge is is not known; `rubrica calibrate` tells."


def _reliability(rubric: Rubric) -> Reliability:
    """What calibration found of every judge alone, by dimension."""
    return rubric.calibration.reliability if rubric.calibration is not None else {}


def _plain_reliability(known: Reliability) -> dict[str, Any]:
    return {axis: {judge: own.model_dump() for judge, own in judges.items()} for axis, judges in known.items()}


def _reliability_table(known: Reliability, rubric: Rubric | None) -> Table:
    table = figures_table(("dimension", "judge"), ("against people: RMSE", "bias", "rank corr.", "people’s lie"))
    for axis, judges in known.items():
        shown = safe(dimension_title(axis, rubric))
        for judge, own in judges.items():
            rank = figure(None if own.spearman is None else round(own.spearman, 2))
            errors = figure(round(own.rmse, 2)), signed(round(own.bias, 2))
            table.add_row(shown, safe(judge), *errors, rank, people_around(own))
            shown = ""
    return table


def _no_votes(stored: str, evaluations: int) -> str:
    if not evaluations:
        return f"{stored} holds no evaluation"
    return (
        f"{stored}: none of {count_of(evaluations, 'evaluation')} has votes; a panel or repeats give them "
        "(`rubrica eval CASES.jsonl -J MODEL -J OTHER -o EVALUATIONS.jsonl`, or --repeats 3)"
    )


# --- counting ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class JudgeRecord:
    """One judge on one axis, over the file. A judge's repeats on one evaluation count as one score, their mean."""

    given: int = 0  # evaluations with a score of this judge
    missing: int = 0  # votes that gave no score
    total: float = 0.0
    compared: int = 0  # evaluations that another judge scored too
    off: float = 0.0  # the sum of its distances from the panel's mean there

    @property
    def mean(self) -> float | None:
        return self.total / self.given if self.given else None

    @property
    def offset(self) -> float | None:
        """How far above (kinder) or below (harsher) the mean of all judges it scores the same responses."""
        return self.off / self.compared if self.compared else None


@dataclass(slots=True)
class VoteCounts:
    """Votes counted as they go by; the evaluations themselves are not kept."""

    evaluations: int = 0
    voted: int = 0  # with votes on at least one axis
    records: dict[str, dict[str, JudgeRecord]] = field(default_factory=dict)  # by axis, then judge
    pairs: dict[str, dict[JudgePair, list[tuple[float, float]]]] = field(default_factory=dict)  # by axis, then judges

    def taken(self, evaluations: Iterable[Evaluation]) -> Iterator[Mapping[str, Sequence[Vote]]]:
        """The votes of each evaluation by axis; an axis is told apart from those of other rubrics."""
        for evaluation in evaluations:
            self.evaluations += 1
            reference = f"{evaluation.rubric}@{evaluation.version}"
            votes = {f"{reference}/{axis}": result.votes for axis, result in axes_of(evaluation) if result.votes}
            self.voted += bool(votes)
            for axis, cast in votes.items():
                means = self._count(self.records.setdefault(axis, {}), cast)
                own = self.pairs.setdefault(axis, {})
                for one, other in combinations(sorted(means)[:MOST_PAIRED], 2):
                    own.setdefault((one, other), []).append((means[one], means[other]))
            yield votes

    @property
    def agreements(self) -> dict[str, dict[JudgePair, ScoreAgreement]]:
        """How far every two judges agree, by axis."""
        return {
            axis: {judges: score_agreement(scores) for judges, scores in own.items()}
            for axis, own in self.pairs.items()
            if own
        }

    @staticmethod
    def _count(records: dict[str, JudgeRecord], cast: Sequence[Vote]) -> dict[str, float]:
        """Counts what each judge gave, and gives back its mean."""
        given: dict[str, list[float]] = {}
        for vote in cast:
            record = records.setdefault(vote.judge, JudgeRecord())
            if vote.value is None:
                record.missing += 1
            else:
                given.setdefault(vote.judge, []).append(vote.value)
        means = {judge: fmean(own) for judge, own in given.items()}
        for judge, mean in means.items():
            records[judge].given += 1
            records[judge].total += mean
            if len(means) > 1:
                records[judge].compared += 1
                records[judge].off += mean - fmean(means.values())
        return means


# --- what is told -----------------------------------------------------------------------------------------


def _plain(
    poll: VoteCounts, found: Mapping[str, AxisAgreement], levelled: Levelling | None, written: str | None
) -> dict[str, Any]:
    rubrics: dict[str, dict[str, Any]] = {}
    pairs = poll.agreements
    for key, own in found.items():
        reference, _, axis = key.rpartition("/")
        rubrics.setdefault(reference, {})[axis] = {
            "evaluations": own.alpha.units,
            "alpha": own.alpha.value,
            "why": own.alpha.why,
            "spread": own.spread,
            "judges": {
                judge: {
                    "scores": record.given,
                    "missing": record.missing,
                    "mean": record.mean,
                    "offset": record.offset,
                }
                for judge, record in poll.records[key].items()
            },
            "pairs": [{"judges": judges, **pair.plain} for judges, pair in pairs.get(key, {}).items()],
        }
    plain: dict[str, Any] = {"evaluations": poll.evaluations, "voted": poll.voted, "rubrics": rubrics}
    if levelled is not None:
        changes = [{"before": b, "after": a, "evaluations": n} for (b, a), n in levelled.verdicts.items()]
        plain["levelled"] = {
            "changed": levelled.changed,
            "verdicts": changes,
            "notes": levelled.notes,
            "written": written,
        }
    return plain


def _page(
    poll: VoteCounts,
    found: Mapping[str, AxisAgreement],
    titles: AxisTitles,
    levelling: tuple[Levelling | None, str | None],
) -> RenderableType:
    levelled, written = levelling
    parts: list[RenderableType] = [_by_dimension(found, titles), Text(), _by_judge(poll, titles), Text()]
    if pairs := poll.agreements:
        parts += [_by_pair(pairs, titles), Text(legend(), "dim"), Text()]
    parts += [Text(f"{safe(titles.of(key))}: {own.alpha.why}") for key, own in found.items() if own.alpha.why]
    if poll.voted < poll.evaluations:
        parts.append(
            Text(f"{poll.evaluations - poll.voted:,} of {count_of(poll.evaluations, 'evaluation')} without votes")
        )
    parts.append(Text("An offset below 0 is harsher than the panel on the same responses.", "dim"))
    if levelled is not None:
        parts += [Text(safe(line)) for line in levelled.notes]
        parts.append(
            Text(f"\n{levelled.description}" + (f"; written to {safe(written)}" if written is not None else ""))
        )
    return Group(*parts)


def _by_dimension(found: Mapping[str, AxisAgreement], titles: AxisTitles) -> Table:
    table = figures_table(("dimension",), ("evaluations", "alpha", "spread"))
    for key, own in found.items():
        alpha = (
            Text("—", "dim")
            if own.alpha.value is None
            else Text(figure(round(own.alpha.value, 2)), _style(own.alpha.value))
        )
        spread = figure(None if own.spread is None else round(own.spread, 2))
        table.add_row(safe(titles.of(key)), f"{own.alpha.units:,}", alpha, spread)
    return table


def _by_judge(poll: VoteCounts, titles: AxisTitles) -> Table:
    table = figures_table(("dimension", "judge"), ("mean", "offset", "scores", "missing"))
    for key, judges in poll.records.items():
        shown = safe(titles.of(key))
        for judge, record in judges.items():
            offset = "—" if record.offset is None else signed(round(record.offset, 2))
            missing = Text(f"{record.missing:,}", "yellow" if record.missing else "dim")
            mean = figure(None if record.mean is None else round(record.mean, 2))
            table.add_row(shown, safe(judge), mean, offset, f"{record.given:,}", missing)
            shown = ""
    return table


def _by_pair(pairs: Mapping[str, Mapping[JudgePair, ScoreAgreement]], titles: AxisTitles) -> Table:
    rows = [((titles.of(key), *judges), own) for key, by_pair in pairs.items() for judges, own in by_pair.items()]
    return scores_table(("dimension", "first", "second"), rows)


class AxisTitles:
    """What axes are called: by their title alone, where the file holds evaluations of one rubric only."""

    def __init__(self, keys: Iterable[str], rubric: Rubric | None) -> None:
        self._several = len({key.rpartition("/")[0] for key in keys}) > 1
        self._rubric = rubric

    def of(self, key: str) -> str:
        reference, _, axis = key.rpartition("/")
        own = self._rubric if self._rubric is not None and reference.partition("@")[0] == self._rubric.name else None
        title = dimension_title(axis, own)
        return f"{reference}/{title}" if self._several else title


def _style(alpha: float) -> str:
    """Krippendorff's own bounds: 0.8 is reliable, 0.667 the least for tentative conclusions."""
    return "green" if alpha >= 0.8 else "yellow" if alpha >= 0.667 else "red"
