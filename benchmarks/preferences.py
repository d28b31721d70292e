"""How often offline scores of `answer-quality` put that of two answers first which people prefer.

The pairs are requests with two answers each, and what people prefer (PandaLM). A third of the requests is kept apart:
`answer_preference` and the few numbers of the recipe were fitted to the others. Intervals are taken over requests.
Beside each score stands the plainest one that there is: the longer answer first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.preferences import JudgedPair, judged_pairs

import rubrica
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.gateway.classifier import OfflineClassifier
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.packs.validity import Figure
from rubrica.text.answer_preference import answer_preference
from rubrica.text.texts import Texts

from .figures import mean_of, measured
from .safety import data

PACK = "answer-quality"
TITLE = "pairs of answers (PandaLM), kept apart"
MEASURE = "preferred one of two put first"


@dataclass(frozen=True, slots=True)
class EvaluatedPair:
    """A pair, and what was made of both answers, the preferred one first."""

    pair: JudgedPair
    evaluations: tuple[Evaluation, Evaluation]

    def by_score(self) -> float:
        return _credit(*(each.score or 0.0 for each in self.evaluations))

    def by_dimension(self, name: str) -> float:
        return _credit(*(each.dimensions[name].value or 0.0 for each in self.evaluations))

    def by_preference(self) -> float:
        asked = self.pair.request
        return _credit(*(answer_preference(Texts(asked, text)) for text in (self.pair.preferred, self.pair.other)))

    def by_length(self) -> float:
        return _credit(*(float(len(answer.split())) for answer in (self.pair.preferred, self.pair.other)))


def _credit(preferred: float, other: float) -> float:
    """1 where the preferred answer has the higher value, one half where both have the same."""
    return 0.5 if preferred == other else float(preferred > other)


def evaluated_pairs() -> list[EvaluatedPair]:
    """The pairs that are kept apart, judged offline."""
    plan, classify = compile_rubric(rubrica.load(PACK)), OfflineClassifier()
    found = []
    for pair in judged_pairs(data()):
        if pair.apart:
            about = {"prompt": pair.request, "question_type": classify(pair.request).type}
            contexts = (Context.of(about | {"response": answer}) for answer in (pair.preferred, pair.other))
            first, second = (evaluate(plan, context) for context in contexts)
            found.append(EvaluatedPair(pair, (first, second)))
    return found


def figures(pairs: Sequence[EvaluatedPair]) -> Iterator[Figure]:
    """What the score and each dimension are worth, and the length alone."""
    rows = {
        "score": [pair.by_score() for pair in pairs],
        **{name: [pair.by_dimension(name) for pair in pairs] for name in rubrica.load(PACK).dimensions},
    }
    yield _measured("features/answer_preference", MEASURE, pairs, [pair.by_preference() for pair in pairs])
    for name, credits in rows.items():
        yield _measured(f"{PACK}/{name}", MEASURE, pairs, credits)
        if name == "score":
            yield _measured(f"{PACK}/{name}", "preferred one is the longer", pairs, [p.by_length() for p in pairs])


def _measured(score: str, measure: str, pairs: Sequence[EvaluatedPair], credits: Sequence[float]) -> Figure:
    about = Figure(score, TITLE, 0, measure, 0.0)
    groups = [each.pair.request for each in pairs]
    return measured(about, groups, mean_of(credits))
