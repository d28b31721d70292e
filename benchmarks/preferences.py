"""How often offline scores of `answer-quality` put that of two answers first which people prefer.

The pairs are requests with two answers each, and what three people prefer (PandaLM): those on which two of them agree.
Every third pair is kept apart. Requests come up in several pairs, so that intervals are taken over requests; the few
numbers of the recipe that were chosen with pairs in view were chosen on the other two thirds. Beside each score stands
the plainest one that there is: the longer answer first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from training.exchanges import records
from training.labelled import LabelledText

import rubrica
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.gateway.classifier import OfflineClassifier
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.packs.validity import Figure

from .figures import measured
from .safety import data

PACK = "answer-quality"
TITLE = "pairs of answers (PandaLM), kept apart"
MEASURE = "preferred one of two put first"


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two answers to a request, the place of the one that people prefer, and what was made of both."""

    request: str
    preferred: int  # 0 or 1
    answers: tuple[str, str]
    evaluations: tuple[Evaluation, Evaluation]

    def credit(self, values: Sequence[float]) -> float:
        """1 where the preferred answer has the higher value, one half where both have the same."""
        ahead = values[self.preferred] - values[1 - self.preferred]
        return 0.5 if not ahead else float(ahead > 0)

    def by_score(self) -> float:
        return self.credit([each.score or 0.0 for each in self.evaluations])

    def by_dimension(self, name: str) -> float:
        return self.credit([each.dimensions[name].value or 0.0 for each in self.evaluations])

    def by_length(self) -> float:
        return self.credit([float(len(answer.split())) for answer in self.answers])


def judged_pairs() -> list[JudgedPair]:
    """The pairs that are kept apart, judged offline."""
    plan, classify = compile_rubric(rubrica.load(PACK)), OfflineClassifier()
    found = []
    for number, row in enumerate(records(data(), "pandalm")):
        said = [row["annotators"].count(choice) for choice in (1, 2)]
        if not LabelledText(Context(), str(number), {}).apart or max(said) < 2:
            continue
        request = f"{row['instruction']}\n{row['input'] or ''}".strip()
        about = {"prompt": request, "question_type": classify(request).type}
        answers = str(row["response_1"]), str(row["response_2"])
        first, second = (evaluate(plan, Context.of(about | {"response": answer})) for answer in answers)
        found.append(JudgedPair(request, said.index(max(said)), answers, (first, second)))
    return found


def figures(pairs: Sequence[JudgedPair]) -> Iterator[Figure]:
    """What the score and each dimension are worth, and the length alone."""
    rows = {
        "score": [pair.by_score() for pair in pairs],
        **{name: [pair.by_dimension(name) for pair in pairs] for name in rubrica.load(PACK).dimensions},
    }
    for name, credits in rows.items():
        yield _measured(f"{PACK}/{name}", MEASURE, pairs, credits)
        if name == "score":
            yield _measured(f"{PACK}/{name}", "preferred one is the longer", pairs, [p.by_length() for p in pairs])


def _measured(score: str, measure: str, pairs: Sequence[JudgedPair], credits: Sequence[float]) -> Figure:
    about = Figure(score, TITLE, 0, measure, 0.0)
    groups = [pair.request for pair in pairs]
    return measured(about, groups, lambda places: fmean(credits[at] for at in places) if places else None)
