"""Compares two runs case by case: what is better, what is worse, and what is not significant.

Every measure has a paired test: Wilcoxon's for values, McNemar's for verdicts, and where cases share a group, one that
flips whole groups. Score and pass rate are one family of tests, sections and dimensions another; Holm's correction
holds each to the level. A false regression among all of them is then no more frequent than 1 - level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from rubrica.errors import InputError
from rubrica.model.notebook import html_table
from rubrica.report.figures import count_of
from rubrica.runs.files.rows import RunRow
from rubrica.runs.summary.grading import Grading, name_of
from rubrica.runs.summary.measures import KINDS, Measure
from rubrica.scoring.holm import holm, holm_shares
from rubrica.scoring.paired import TestResult, mcnemar, sign_flips, signed_rank, tidy
from rubrica.scoring.resampling import GroupSums, mean_intervals

from .measure_comparison import ComparisonTerms, MeasureComparison, Verdict
from .pairing import CasePairs, RubricCases, match_rubrics, sheets_of
from .position_comparison import PositionComparison, compare_positions

MOST_POSITIONS = 20
"""Positions of criteria that a table shows."""
MOST_MOVED = 10
"""Cases told by name, for each direction."""
UNKNOWN = (Grading(), Grading())
USUAL = ComparisonTerms()


@dataclass(frozen=True, slots=True)
class MovedCase:
    """A case whose score changed."""

    case: str
    before: float
    after: float
    verdicts: tuple[str, str]  # before and after


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs compared; differences are the second minus the first, so that above 0 is better."""

    rubrics: tuple[str, str]  # name@version; several are joined
    cases: int  # in both
    only_a: Sequence[str]
    only_b: Sequence[str]
    groups: int | None  # that cases stand in; None: every case stands alone
    lines: Sequence[MeasureComparison]
    changes: Counter[tuple[str, str]]  # verdicts, from what to what
    worse: Sequence[MovedCase]  # by score, the furthest first
    better: Sequence[MovedCase]
    notes: Sequence[str]  # what stands in the way of a plain comparison
    terms: ComparisonTerms
    positions: Sequence[PositionComparison] = ()  # of criteria that cases bring

    @property
    def regressions(self) -> list[MeasureComparison]:
        return [line for line in self.lines if line.verdict == "regression"]

    @property
    def improvements(self) -> list[MeasureComparison]:
        return [line for line in self.lines if line.verdict == "improvement"]

    @property
    def verdict(self) -> Verdict:
        """In one word: any regression is one; nothing told at all cannot be told."""
        found = {line.verdict for line in self.lines}
        for verdict in ("regression", "improvement", "cannot tell"):
            if verdict in found:
                return verdict
        return "same" if found else "cannot tell"

    def _repr_html_(self) -> str:
        rows = [
            (str(line.measure), line.before, line.after, line.difference or line.mean, line.p, line.verdict)
            for line in self.lines
        ]
        title = f"{self.rubrics[0]} → {self.rubrics[1]}: {self.verdict} over {count_of(self.cases, 'case')}"
        shown = html_table(title, ("measure", "before", "after", "difference", "p", "verdict"), rows)
        if not self.positions:
            return shown
        places = [(one.position, one.before, one.after, one.cases, one.p) for one in self.positions[:MOST_POSITIONS]]
        return shown + html_table("answers by position", ("criterion", "before", "after", "cases", "p"), places)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "verdict": self.verdict,
            "rubrics": list(self.rubrics),
            "cases": self.cases,
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "groups": self.groups,
            "lines": [line.to_dict() for line in self.lines],
            "changes": [{"from": a, "to": b, "cases": count} for (a, b), count in self.changes.most_common()],
            "worse": [_plain(moved) for moved in self.worse],
            "better": [_plain(moved) for moved in self.better],
            "notes": list(self.notes),
            "terms": self.terms.to_dict(),
            **({"positions": [place.to_dict() for place in self.positions]} if self.positions else {}),
        }


def compare(
    a: Iterable[RunRow],
    b: Iterable[RunRow],
    *,
    gradings: tuple[Grading, Grading] = UNKNOWN,
    names: tuple[str, str] = ("A", "B"),
    terms: ComparisonTerms = USUAL,
) -> Comparison:
    """Compare run `b` with run `a`, paired by case; repeats of a case are averaged first.

    >>> rows = [RunRow(str(n), "r@1.0.0", "pass", 80.0, 100.0) for n in range(9)]
    >>> found = compare(rows, rows)
    >>> found.verdict, found.lines[0].description
    ('same', 'equal on all 9 cases')
    """
    sheets = sheets_of(a, gradings[0], names[0]), sheets_of(b, gradings[1], names[1])
    pairs = [CasePairs.of(one, other, name, grouped=terms.grouped) for name, one, other in match_rubrics(*sheets)]
    if not any(found.cases for found in pairs):
        raise InputError(_nothing_common(sheets, names))
    notes: list[str] = []
    lines: list[MeasureComparison] = []
    for found in pairs:
        notes += _notes(found, names)
        lines += _lines(found, terms, notes)
    if not lines:
        raise InputError("; ".join([f"{names[0]} and {names[1]} have no measure in common", *notes]))
    clustered = any(found.clustered for found in pairs)
    return Comparison(
        rubrics=(_versions(sheets[0]), _versions(sheets[1])),
        cases=sum(len(found.cases) for found in pairs),
        only_a=[case for found in pairs for case in found.only_a],
        only_b=[case for found in pairs for case in found.only_b],
        groups=sum(len(_clusters(found)) for found in pairs) if clustered else None,
        lines=sorted(_corrected(lines, terms), key=lambda line: (line.rubric, KINDS.index(line.measure.kind))),
        changes=sum((found.changes for found in pairs), Counter()),
        worse=_moved_cases(pairs, -1),
        better=_moved_cases(pairs, 1),
        notes=notes,
        terms=terms,
        positions=[line for found in pairs for line in compare_positions(found, _clusters(found), terms.seed)],
    )


def _lines(pairs: CasePairs, terms: ComparisonTerms, notes: list[str]) -> list[MeasureComparison]:
    """One line for every measure both runs have on the same scale, not yet corrected for there being several."""
    clusters = _clusters(pairs)
    sums: dict[str, GroupSums] = {}
    lines: list[MeasureComparison] = []
    for measure in pairs.measures:
        spans = pairs.a.span(measure), pairs.b.span(measure)
        if None not in spans and spans[0] != spans[1]:
            notes.append(
                f"{measure} is on {_span_text(spans[0])} in one run and {_span_text(spans[1])} in the other: left out"
            )
            continue
        values = list(pairs.values(measure))
        if not values:
            notes.append(f"{measure} has no value for the same case in both runs: left out")
            continue
        place_of = {place: cluster for cluster, places in enumerate(clusters) for place in places}
        totals, sizes = [0.0] * len(clusters), [0] * len(clusters)
        for place, before, after in values:
            totals[place_of[place]] += after - before
            sizes[place_of[place]] += 1
        sums[measure.key] = GroupSums(totals, sizes)
        differences = [after - before for _, before, after in values]
        whole = spans[1] or spans[0] or _range_of(values)
        lines.append(
            MeasureComparison(
                measure=measure,
                rubric=pairs.by_rubric,
                before=sum(before for _, before, _ in values) / len(values),
                after=sum(after for _, _, after in values) / len(values),
                cases=len(values),
                changed=len(tidy(differences)),
                clusters=sum(size > 0 for size in sizes),
                test=_test(measure, differences, totals, pairs, terms),
                margin=terms.margin * (whole[1] - whole[0]),
                error=sums[measure.key].moments.error,
            )
        )
    intervals = mean_intervals(sums, Random(terms.seed), level=terms.level, replicates=terms.replicates)  # noqa: S311
    return [replace(line, difference=intervals[line.measure.key]) for line in lines]


def _test(
    measure: Measure, differences: Sequence[float], totals: Sequence[float], pairs: CasePairs, terms: ComparisonTerms
) -> TestResult:
    if pairs.clustered:
        return sign_flips(totals, Random(f"{terms.seed} {measure.key}"))  # noqa: S311
    if measure.kind == "passed" and not (pairs.a.repeated or pairs.b.repeated):
        return mcnemar(sum(value > 0 for value in differences), sum(value < 0 for value in differences))
    return signed_rank(differences)


def _corrected(lines: Sequence[MeasureComparison], terms: ComparisonTerms) -> list[MeasureComparison]:
    """Holm's correction within each family, and what each line then comes to."""
    done = []
    for whole in (True, False):
        family = [line for line in lines if (line.measure.kind in ("score", "passed")) == whole]
        ps = [line.test.p for line in family]
        for line, p, share in zip(family, holm(ps), holm_shares(ps), strict=True):
            done.append(replace(line, p=p).with_verdict(terms, share))
    return done


def _clusters(pairs: CasePairs) -> list[list[int]]:
    """The places of the cases that stand together; a case without a group stands alone."""
    grouped: dict[tuple[str, bool], list[int]] = {}
    for place, (case, group) in enumerate(zip(pairs.cases, pairs.groups, strict=True)):
        grouped.setdefault((case, False) if group is None else (group, True), []).append(place)
    return [grouped[key] for key in sorted(grouped)]


def _notes(pairs: CasePairs, names: tuple[str, str]) -> list[str]:
    notes = []
    old, new = ", ".join(sorted(pairs.a.versions)), ", ".join(sorted(pairs.b.versions))
    hashes = {sheet.grading.hashes.get(name_of(sheet.rubric)) for sheet in (pairs.a, pairs.b)}
    if old != new or (len(hashes) == 2 and None not in hashes):
        changed = f"from {old} to {new}" if old != new else f"and kept its version, {old}"
        rejudge = "`rubrica rejudge` applies a changed rubric to stored scores"
        notes.append(f"the rubric changed {changed}; what both call the same is compared ({rejudge})")
    if pairs.a.counted and pairs.b.counted and len(pairs.cases) > 1:
        notes.append("cases are called 1, 2, …: if those are lines, not ids, only the same order pairs the same cases")
    for sheet, other, name in ((pairs.a, pairs.b, names[0]), (pairs.b, pairs.a, names[1])):
        if shared := sheet.shared_ids:
            several = (
                f"{count_of(len(shared), 'id')} of {name} {'belongs' if len(shared) == 1 else 'belong'} to several"
            )
            shown = ", ".join(shared[:3]) + (", …" if len(shared) > 3 else "")
            notes.append(
                f"{several} cases ({shown}): nothing tells which is which, so each such id counts once, averaged"
            )
        only = [str(measure) for measure in sheet.columns if measure not in other.columns]
        if only:
            notes.append(f"only {name} has {', '.join(only)}")
        if sheet.inconclusive:
            notes.append(_inconclusive_note(sheet, name))
    if pairs.clustered and len(_clusters(pairs)) < 6:
        notes.append(
            f"the cases stand in {count_of(len(_clusters(pairs)), 'group')}, too few to tell anything: "
            "name another piece of metadata to group by, or none"
        )
    return notes


def _inconclusive_note(sheet: RubricCases, name: str) -> str:
    said = "is" if sheet.inconclusive == 1 else "are"
    note = f"{count_of(sheet.inconclusive, 'evaluation')} of {name} {said} inconclusive, which is not a pass"
    if not sheet.undecided:
        return note
    which = "scored" if sheet.undecided == sheet.inconclusive else f"{sheet.undecided:,} scored"
    return f"{note}: {which} offline, where a judge may settle the verdict"


def _moved_cases(pairs: Sequence[CasePairs], sign: int) -> list[MovedCase]:
    """The cases whose score rose or fell furthest."""
    found = []
    for own in pairs:
        verdicts = {case: (old, new) for case, old, new in own.verdicts()}
        several = ("several", "several")
        for place, before, after in own.values(Measure("score", "score")):
            if sign * (after - before) > 0:
                case = own.cases[place]
                found.append(MovedCase(case, before, after, verdicts.get(case, several)))
    return sorted(found, key=lambda moved: (-abs(moved.after - moved.before), moved.case))[:MOST_MOVED]


def _range_of(values: Sequence[tuple[int, float, float]]) -> tuple[float, float]:
    """The range that values were seen in, where nobody knows their scale."""
    seen = [value for _, before, after in values for value in (before, after)]
    return min(seen), max(seen)


def _nothing_common(sheets: tuple[dict[str, RubricCases], dict[str, RubricCases]], names: tuple[str, str]) -> str:
    for own, name in zip(sheets, names, strict=True):
        if not own:
            return f"{name} holds no evaluation"
    if not match_rubrics(*sheets):
        return (
            f"{names[0]} and {names[1]} have no rubric in common: "
            f"{', '.join(sheets[0])} in one, {', '.join(sheets[1])} in the other"
        )
    examples = [next(iter(next(iter(own.values())).places)) for own in sheets]
    return (
        f"{names[0]} and {names[1]} have no case in common ({examples[0]!r} in one, {examples[1]!r} in the other): "
        "judge the same cases in both runs, with the same ids"
    )


def _versions(sheets: dict[str, RubricCases]) -> str:
    return ", ".join(version for sheet in sheets.values() for version in sorted(sheet.versions))


def _span_text(span: tuple[float, float] | None) -> str:
    return f"{span[0]:g}–{span[1]:g}" if span is not None else "an unknown scale"


def _plain(moved: MovedCase) -> dict[str, Any]:
    return {"case": moved.case, "before": moved.before, "after": moved.after, "verdicts": list(moved.verdicts)}
