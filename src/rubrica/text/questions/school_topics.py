"""Whether a question and a skill are about the same school topic, by meaning.

Words tell little here: a story about rolls on trays practises multiplication and never says so. Two readings of the
sentence model do better together. The first is how near question and skill are to each other. The second goes through
topics: which of some forty school topics the question is like, which ones the wording of the skill is like, and how far
the two agree. `python -m training.school_topics` makes the vectors of the topics.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
import numpy as np
from numpy.typing import NDArray

from rubrica.errors import StoredError

from ..sentence_model import SentenceModel

Floats = NDArray[np.float32]
FILE = "school_topics.weights"
SHARPNESS = 0.03  # how far similarities must lie apart for one topic to be clearly the likelier
TOPIC_SHARE = 0.1  # of agreement on topics, beside the nearness of the two texts
LEAST_AGREEMENT = 1e-3  # so that its logarithm stays finite
LOWEST = -1.7  # of a match: nothing in common, and no topic either
ANY = "any"

CLEAR_SHARE, CLEAR_NEARNESS = 0.3, 0.25
"""What a topic must have to be clear: this share of the likeness, and this nearness to the skill and the question."""


class TopicVectors(msgspec.Struct, frozen=True):
    """The file: names and subjects of the topics, and their vectors as 16-bit numbers, one after the other.

    The topics with questions come first; those at large have only the vector of their skills.
    """

    names: tuple[str, ...]
    subjects: tuple[str, ...]
    questions: bytes
    skills: bytes
    made_from: str = ""

    def to_bytes(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self), 9)


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """How well a question fits a skill: about 0.3 where it does, about -0.2 where it does not."""

    value: float
    question_topic: str
    skill_topic: str
    is_clear: bool  # both texts are clearly about a topic that is known here, so that a low value can be relied on


@dataclass(frozen=True, slots=True)
class SchoolTopics:
    """The topics, ready to compare texts by."""

    names: tuple[str, ...]
    questions: Floats  # a row for each topic with questions
    skills: Floats  # a row for each topic
    covered: Floats  # for each topic at large, 1 for each topic with questions that it covers

    def match(self, question: str, skill: str, model: SentenceModel) -> TopicMatch:
        """How well a question fits the wording of a skill."""
        one, other = model.encode([question, skill])
        to_questions, to_skills = self.questions @ one, self.skills @ other
        likely, wanted = _shares(to_questions), _shares(to_skills)
        own = len(self.questions)
        agreement = float(np.sqrt(likely * wanted[:own]).sum() + wanted[own:] @ (self.covered @ likely))
        first, second = int(to_questions.argmax()), int(to_skills.argmax())
        clear = (
            min(likely[first], wanted[second]) >= CLEAR_SHARE
            and min(to_questions[first], to_skills[second]) >= CLEAR_NEARNESS
        )
        value = float(one @ other) + TOPIC_SHARE * float(np.log(LEAST_AGREEMENT + min(agreement, 1.0)))
        return TopicMatch(max(LOWEST, min(value, 1.0)), self.names[first], self.names[second], bool(clear))


@cache
def school_topics() -> SchoolTopics:
    """Those that ship with the package, read when they are first needed."""
    return to_topics(read_vectors(resources.files(__package__) / FILE))


def read_vectors(path: Traversable) -> TopicVectors:
    """The vectors in a file; a StoredError says what is wrong with it."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(path.read_bytes()), type=TopicVectors)
    except (OSError, zlib.error, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the vectors of school topics: {error} (make them again)") from None


def to_topics(stored: TopicVectors) -> SchoolTopics:
    skills = np.frombuffer(stored.skills, np.float16).reshape(len(stored.names), -1).astype(np.float32)
    questions = np.frombuffer(stored.questions, np.float16).reshape(-1, skills.shape[1]).astype(np.float32)
    own = len(questions)
    covered = [[float(large in (ANY, subject)) for subject in stored.subjects[:own]] for large in stored.subjects[own:]]
    return SchoolTopics(stored.names, questions, skills, np.array(covered, np.float32))


def _shares(similarities: Floats) -> Floats:
    """How likely each topic is, by how near it is: adds up to 1."""
    raised = np.exp((similarities - similarities.max()) / SHARPNESS)
    return np.asarray(raised / raised.sum())
