"""`rubrica.probe`: how much each way of writing for a rubric gains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rubrica.engine.cases import Case
from rubrica.engine.outline import outline_of
from rubrica.errors import RubricaError
from rubrica.hints import did_you_mean
from rubrica.model.context import Context
from rubrica.model.evaluation import Cost, Evaluation, total_cost
from rubrica.model.judge import Judge
from rubrica.model.notebook import html_table
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.runs.request import JudgeSettings
from rubrica.runs.rewards.rollout_judge import RewardTerms, RolloutJudge

from .probe_table import PROBES, Probe, ProbeTarget
from .rubric_words import criteria_of, earning_keywords
from .sample_cases import sample_cases

MOST_GAIN = 0.05
"""What a probe may gain on average, as a share of the score, before it is a finding."""
SAMPLE = 20


@dataclass(frozen=True, slots=True)
class ProbeFigures:
    """How one probe fared. Scores are shares of what the rubric's score is out of."""

    probe: str
    cases: int  # those that had a score before and after
    unscored: int  # those that had none
    before: float | None = None  # mean
    after: float | None = None
    gain: float | None = None
    largest: float | None = None  # the largest gain of a case
    largest_case: str = ""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """How every probe fared on the sample; those for which neither rubric nor cases give cause are left out."""

    rubric: str
    cases: int
    judged: bool  # by models; else by code alone
    figures: tuple[ProbeFigures, ...]
    cost: Cost | None = None

    def exceeding(self, most_gain: float = MOST_GAIN) -> tuple[ProbeFigures, ...]:
        """The probes that gain more than they may, the worst first."""
        found = [one for one in self.figures if one.gain is not None and one.gain > most_gain]
        return tuple(sorted(found, key=lambda one: -(one.gain or 0.0)))

    @property
    def scored(self) -> bool:
        """Whether anything had a score before and after; where nothing had, nothing was probed."""
        return any(one.cases for one in self.figures)

    @property
    def plain(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        usd = None if self.cost is None else self.cost.usd
        return {
            "rubric": self.rubric,
            "cases": self.cases,
            "judged": self.judged,
            "usd": usd,
            "probes": [asdict(one) for one in self.figures],
        }

    def _repr_html_(self) -> str:
        rows = [
            (one.probe, one.cases, *("" if value is None else f"{value:.2f}" for value in _shown(one)))
            for one in self.figures
        ]
        return html_table(f"{self.rubric}: probes on {self.cases} cases", ("probe", "cases", *SHOWN), rows)


SHOWN = ("before", "after", "gain", "largest")


def _shown(figures: ProbeFigures) -> tuple[float | None, ...]:
    return figures.before, figures.after, figures.gain, figures.largest


def probe(
    rubric: str | Path | Mapping[str, Any] | Rubric,
    cases: Any = None,
    judge: str | Sequence[str] | Judge | None = None,
    *,
    probes: Sequence[str] = (),
    limit: int = SAMPLE,
    jobs: int = 16,
    cached: bool = True,
    budget: float | None = None,
) -> ProbeReport:
    """What a model could gain by writing for a rubric: each probe changes the responses of some cases, and the changed
    ones are judged beside the own ones.

    Cases are a file, records or a frame, as for `run`; left out, the examples that come with a rubric. Without a
    judge, code alone scores.

    >>> report = probe("speed-demon", [{"response": "Done.", "response_time": 20}])
    >>> [one.probe for one in report.exceeding()]
    []
    """
    names = (judge,) if isinstance(judge, str) else tuple(judge) if isinstance(judge, Sequence) else ()
    own = None if isinstance(judge, str | Sequence) else judge
    settings = JudgeSettings(names, budget=budget, jobs=jobs, cached=cached)
    loaded = load(rubric)
    judging = RolloutJudge(loaded, own, settings, RewardTerms())

    def evaluations(contexts: Sequence[Context]) -> list[Evaluation]:
        return judging.submit(contexts).result()

    chosen, sample = _chosen(probes), sample_cases(loaded, cases, limit)
    try:
        return probe_rubric(loaded, sample, evaluations, chosen, is_judged=judge is not None)
    finally:
        judging.close()


def _chosen(names: Sequence[str]) -> list[Probe]:
    known = {one.name: one for one in PROBES}
    for name in names:
        if name not in known:
            raise RubricaError(f"there is no probe {name!r} ({did_you_mean(name, list(known), ', '.join(known))})")
    return [known[name] for name in names or known]


def probe_rubric(
    rubric: Rubric,
    sample: Sequence[Case],
    evaluations_of: Callable[[Sequence[Context]], Sequence[Evaluation]],
    probes: Sequence[Probe] = PROBES,
    *,
    is_judged: bool,
) -> ProbeReport:
    """Probe with given cases, by whoever evaluates: all at once, so that judges have as much under way as they may."""
    works: list[Context] = [case.context for case in sample]
    places: dict[str, list[tuple[int, int]]] = {one.name: [] for one in probes}  # of the case, of the changed one
    keywords = earning_keywords(rubric, sample[0].context)
    for number, case in enumerate(sample):
        context = case.context
        target = ProbeTarget(context, criteria_of(rubric, context), keywords)
        for one in probes:
            changed = one.change(target)
            if changed is not None and changed != context.response:
                places[one.name].append((number, len(works)))
                works.append(_with_response(context, changed))
    evaluations = evaluations_of(works)
    shares = [_share(one) for one in evaluations]
    figures = [_figures(name, pairs, shares, sample) for name, pairs in places.items() if pairs]
    costs = [one.cost for one in evaluations if one.cost is not None]
    cost = total_cost(costs) if costs else None
    return ProbeReport(rubric.reference, len(sample), is_judged, tuple(figures), cost)


def _with_response(context: Context, response: str) -> Context:
    """The same case with another response, in its chat too."""
    chat = list(context.messages)
    for place in range(len(chat) - 1, -1, -1):
        if chat[place].role == "assistant" and chat[place].content == context.response:
            chat[place] = chat[place].model_copy(update={"content": response})
            break
    return context.model_copy(update={"response": response, "messages": tuple(chat)})


def _share(evaluation: Evaluation) -> float | None:
    """The score as a share; 0 where a gate forces the verdict."""
    found = outline_of(evaluation)
    if any(fired for _, fired in found.forced):
        return 0.0
    return None if found.score is None else found.score / found.out_of


def _figures(
    name: str, pairs: Sequence[tuple[int, int]], shares: Sequence[float | None], sample: Sequence[Case]
) -> ProbeFigures:
    scored = [
        (sample[case].id, before, after)
        for case, changed in pairs
        if (before := shares[case]) is not None and (after := shares[changed]) is not None
    ]
    if not scored:
        return ProbeFigures(name, 0, len(pairs))
    count = len(scored)
    before = sum(before for _, before, _ in scored) / count
    after = sum(after for *_, after in scored) / count
    largest, where = max((after - before, case) for case, before, after in scored)
    return ProbeFigures(name, count, len(pairs) - count, before, after, after - before, largest, where)
