"""What an educational question is about and how hard it is to read: its words, not the names of its JSON's fields."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

from rubrica.extras import requires
from rubrica.text.language import is_read_as_english
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.questions.mcq import question_of
from rubrica.text.questions.question import Question
from rubrica.text.sentence_model import sentence_model
from rubrica.text.style import reading_grade
from rubrica.text.texts import Feature, Span, Texts
from rubrica.text.words import WORD, cached_reading, stem, stems

if TYPE_CHECKING:
    from rubrica.text.questions.school_topics import TopicMatch

MOST_SPANS = 20
LONGEST = 600  # characters of a question and of a request that are compared by meaning
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


# What a request says around its topic: an order in front of it; type, difficulty, grade and language behind it.
_ORDER = lazy_pattern(
    r"^(?:please\s+)?(?:i (?:need|want)|write|create|generate|make|give|provide|produce|prepare|develop|compose)\b"
    r"[^.:;]{0,80}?\b(?:questions?|items?|exercises?|problems?|tasks?|quiz(?:zes)?|mcqs?)\b"
    r"[\s,]*(?:(?:on|about|for|testing|that (?:tests?|assess(?:es)?|practis?[ec]es?)|to practis?[ec]e|covering)\b)?"
    r"|^(?:an?|one|two|three|four|five|six|\d+)\s[^.:;]{0,60}?\b(?:questions?|items?|exercises?|tasks?)\s+(?:on|about)\b",
    re.IGNORECASE,
)
_TYPE = r"multiple[- ]choice|fill[- ]in|true[- ]or[- ]false|short[- ]answer|mcqs?"
_MANNER = lazy_pattern(
    rf":\s*an? (?:(?:{_TYPE}) )?question\b(?:, (?:easy|medium|hard|in [^\W\d_]+))*\.?\s*$"
    rf"|[,.:]?\s*\b(?:an? )?(?:{_TYPE})(?: questions?)?\b|[,.]\s*(?:easy|medium|hard)\b"
    r"|\bfor (?:grade \d+|\w+[- ]graders?)\b|[,.]\s*with (?:an explanation|explanations)\b"
    r"|,?\s*\bfrom easy to hard\b",
    re.IGNORECASE,
)


@cached_reading
def topic_text(texts: Texts) -> str:
    """What the request says the question is to be about, without the order around it.

    >>> topic_text(Texts(prompt="Halves and quarters: a multiple-choice question, medium, in Spanish."))
    'Halves and quarters'
    >>> topic_text(Texts(prompt="Write an easy multiple-choice question on adding fractions for grade 4."))
    'adding fractions'
    """
    asked = " ".join(texts.prompt.split())
    bare = _MANNER.sub("", _ORDER.sub("", asked, count=1)).strip(" .,:;")
    return bare or asked


@cached_reading
def topic_match(texts: Texts) -> TopicMatch | None:
    """How well the question fits what was asked for, by meaning; None without the sentence model, and outside English.

    The stem is compared, with the options where they are words: explanations tell stories of their own. A response
    that is no single question is compared as it is.
    """
    model, asked, shown = sentence_model(), topic_text(texts)[:LONGEST], _shown(texts)
    if model is None or not shown or not asked_topics(texts):
        return None
    if not (is_read_as_english(shown) and is_read_as_english(asked)):
        return None
    with requires("local", "school topics"):
        from rubrica.text.questions.school_topics import school_topics
    return school_topics().match(shown, asked, model)


def _shown(texts: Texts) -> str:
    """What a learner reads before answering, as far as it is compared."""
    question = question_of(texts)
    if question is None:
        return texts.response[:LONGEST].strip()
    options = "; ".join(text for _, text in question.options if re.search(r"[^\W\d_]{3,}", text))
    return f"{question.text[:LONGEST]} {options}"[:LONGEST].strip()


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
    said = stems(Texts(prompt=topic_text(texts)), "prompt")
    return frozenset(said - _ORDERS - {word for word in said if word.isdigit()})


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


def _topic_spans(texts: Texts) -> list[Span]:
    """The stem, with what it reads like and what was asked for."""
    match, question = topic_match(texts), question_of(texts)
    if match is None or question is None:
        return []
    start = texts.response.find(question.text)
    if start < 0:
        return []
    label = f"it reads like {match.question_topic}; asked for: {match.skill_topic}"
    return [Span("response", start, start + len(question.text), question.text[:200], label)]


def _in_english(texts: Texts) -> float:
    question = question_of(texts)
    return float(is_read_as_english(texts.response if question is None else _prose(question)))


def _grade(texts: Texts) -> float:
    question = question_of(texts)
    if question is None or not is_read_as_english(_prose(question)):
        return 0.0
    return reading_grade(Texts(response=_prose(question)), "response")


FEATURES: tuple[Feature, ...] = (
    Feature(
        "question_reading_grade",
        "school grade needed to read the question's stem and explanation (Flesch-Kincaid, English), 0 to 20; "
        "0 where `question_in_english` is 0",
        0,
        20,
        _grade,
    ),
    Feature(
        "question_in_english",
        "1 if the question's stem and explanation are in English, or too short to tell; reading grades are for English",
        0,
        1,
        _in_english,
    ),
    Feature(
        "topic_match_known",
        "1 if question and request can be compared by meaning: both in English, the sentence model installed, else 0",
        0,
        1,
        lambda texts: float(topic_match(texts) is not None),
    ),
    Feature(
        "topic_match",
        "how well the question fits the request by meaning: about 0.3 where it does, -0.2 where not; "
        "0 where `topic_match_known` is 0",
        -1.7,
        1,
        lambda texts: 0.0 if (match := topic_match(texts)) is None else match.value,
        _topic_spans,
    ),
    Feature(
        "topic_clear",
        "1 if question and request are each clearly about some school topic, so that a low `topic_match` holds, else 0",
        0,
        1,
        lambda texts: 0.0 if (match := topic_match(texts)) is None else float(match.is_clear),
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
