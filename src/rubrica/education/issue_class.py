"""The class of an issue that came without one: by its words, and by its meaning where the sentence model is installed.

Reviewers write issues in free words, of which lists hold the usual ones. So a short issue goes by the list, and in a
longer one both readings count: a linear head on the sentence model, and what the list says.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from math import exp

from rubrica.text.language import is_read_as_english
from rubrica.text.question_type import SentenceHead
from rubrica.text.sentence_model import sentence_model

FILE = "issue_classes.head"
TERSE = 4
"""Words up to which an issue is taken for keywords: the list alone decides."""
SETTLED, HINTED = 3.0, 1.0
"""What a phrase that settles it adds to the score of its class, and what a single word does."""
LEAST_CHANCE = 0.4
"""Of the likeliest class, where no word of the list is there to support it."""


def class_by_meaning(issue: str, settled: str | None, hinted: str | None) -> str | None:
    """The likeliest class of an issue, given what the words say; None where meaning is not read or tells too little."""
    model = sentence_model()
    if model is None or len(issue.split()) <= TERSE or not is_read_as_english(issue):
        return None
    head = issue_head()
    scores = dict(zip(head.labels, head.scores(model.encode([issue])[0].tolist()), strict=True))
    for label, points in ((settled, SETTLED), (hinted, HINTED)):
        if label is not None:
            scores[label] += points
    best = max(scores, key=scores.__getitem__)
    chance = 1 / sum(exp(score - scores[best]) for score in scores.values())
    return best if chance >= LEAST_CHANCE or settled is not None or hinted is not None else None


@cache
def issue_head() -> SentenceHead:
    """The trained head, read when it is first needed."""
    return SentenceHead.read(resources.files("rubrica.education") / FILE)
