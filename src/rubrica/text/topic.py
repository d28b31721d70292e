"""What an educational question is about and how hard it is to read: its words, not the names of its JSON's fields."""

from __future__ import annotations

from math import inf

from rubrica.text.mcq import question_of
from rubrica.text.question import Question
from rubrica.text.style import reading_grade
from rubrica.text.texts import Feature, Span, Texts
from rubrica.text.words import WORD, cached_reading, stem, stems

MOST_SPANS = 20
_ROOT = 6  # letters at the start of a long word that its kin share

# Words of a request that say what to write, not what about.
_ORDERS = frozenset(
    map(
        stem,
        (
            "write", "create", "generate", "make", "give", "provide", "produce", "prepare", "develop", "compose",
            "need", "want", "please", "find", "identify", "choose",
            "question", "questions", "multiple-choice", "multiple", "choice", "mcq", "mcqs",
            "item", "items", "exercise", "exercises", "problem", "problems", "task", "quiz", "test", "assessment",
            "option", "options", "answer", "answers", "correct", "distractor", "distractors", "explanation",
            "explanations", "explain", "rationale", "solution", "hint", "hints", "easy", "simple", "basic", "beginner",
            "medium", "moderate", "intermediate", "hard", "difficult", "challenging", "advanced", "difficulty", "level",
            "grade", "grades", "grader", "graders", "class", "year", "student", "students", "learner", "learners",
            "pupil", "pupils", "child", "children", "subject", "topic", "skill", "standard", "short", "suitable",
            "appropriate", "one", "two", "three", "four", "five", "set", "step", "steps", "worked",
        ),
    )
)  # fmt: skip


def _prose(question: Question) -> str:
    return f"{question.text}\n\n{question.explanation}"


def _all_words(question: Question) -> str:
    return "\n".join((question.text, *(text for _, text in question.options), question.answer, question.explanation))


@cached_reading
def asked_topics(texts: Texts) -> frozenset[str]:
    """The content words of the request that say what the question is to be about.

    >>> sorted(asked_topics(Texts(prompt="Write an easy multiple-choice question on fractions.")))
    ['fraction']
    """
    return frozenset(stems(texts, "prompt") - _ORDERS - {word for word in stems(texts, "prompt") if word.isdigit()})


@cached_reading
def met_topics(texts: Texts) -> frozenset[str]:
    """Those of them that the question takes up: in its stem, its options or its explanation.

    Long words count as taken up by their kin: multiplication by multiply.
    """
    question = question_of(texts)
    said = stems(Texts(response=texts.response if question is None else _all_words(question)), "response")
    roots = {word[:_ROOT] for word in said if len(word) >= _ROOT}
    return frozenset(
        word for word in asked_topics(texts) if word in said or (len(word) > _ROOT and word[:_ROOT] in roots)
    )


def _overlap(texts: Texts) -> float:
    asked = asked_topics(texts)
    return len(met_topics(texts)) / len(asked) if asked else 0.0


def _spans(texts: Texts) -> list[Span]:
    met, found = met_topics(texts), []
    for match in WORD.finditer(texts.prompt):
        if stem(match[0].lower()) in met:
            found.append(Span("prompt", match.start(), match.end(), match[0][:200], "topic taken up"))
            if len(found) == MOST_SPANS:
                break
    return found


def _grade(texts: Texts) -> float:
    question = question_of(texts)
    return 0.0 if question is None else reading_grade(Texts(response=_prose(question)), "response")


FEATURES: tuple[Feature, ...] = (
    Feature(
        "question_reading_grade",
        "school grade needed to read the question's stem and explanation (Flesch-Kincaid, English), 0 to 20",
        0,
        20,
        _grade,
    ),
    Feature(
        "topic_word_count",
        "distinct words of the prompt that say what a question is to be about, orders such as 'write' aside",
        0,
        inf,
        lambda texts: float(len(asked_topics(texts))),
    ),
    Feature(
        "topic_overlap",
        "share of those words that the question takes up in its stem, options or explanation, 0 to 1",
        0,
        1,
        _overlap,
        _spans,
    ),
)
