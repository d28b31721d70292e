"""Makes the vectors of school topics that ship with the package: `python -m training.school_topics`.

Reads the topics beside it, with the wordings of skills and the questions of each. To change what a topic is like, or to
add one, change them there and run this again; it needs the sentence model.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from rubrica.text.questions.school_topics import FILE, TopicVectors
from rubrica.text.sentence_model import INSTALL, SentenceModel, sentence_model

from .examples import digest

EXAMPLES = Path(__file__).parent / "examples" / "school_topics" / "topics.yaml"
VECTORS = Path(__file__).parents[1] / "src" / "rubrica" / "text" / "questions" / FILE


class WrittenTopic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topic as it is written down. One without questions covers all of its subject."""

    topic: str
    subject: str
    skills: Annotated[list[str], msgspec.Meta(min_length=1)]
    questions: list[str] = []


def read_topics(path: Path = EXAMPLES) -> list[WrittenTopic]:
    """The topics of the file, those with questions first."""
    found = msgspec.yaml.decode(path.read_bytes(), type=list[WrittenTopic])
    return sorted(found, key=lambda topic: not topic.questions)


def made_from(topics: Sequence[WrittenTopic]) -> str:
    return digest(*(msgspec.structs.astuple(topic) for topic in topics))


def vectors(topics: Sequence[WrittenTopic], model: SentenceModel) -> TopicVectors:
    """The mean direction of the skills of each topic, and of its questions."""
    return TopicVectors(
        tuple(topic.topic for topic in topics),
        tuple(topic.subject for topic in topics),
        b"".join(_mean(topic.questions, model) for topic in topics if topic.questions),
        b"".join(_mean(topic.skills, model) for topic in topics),
        made_from(topics),
    )


def _mean(texts: Sequence[str], model: SentenceModel) -> bytes:
    total = model.encode(texts).sum(axis=0)
    return bytes((total / np.linalg.norm(total)).astype(np.float16).tobytes())


def main() -> None:
    model = sentence_model()
    if model is None:
        sys.exit(f"the sentence model is not installed ({INSTALL})")
    VECTORS.write_bytes(vectors(read_topics(), model).to_bytes())
    print(f"{VECTORS.name}: {VECTORS.stat().st_size:,} bytes, {len(read_topics())} topics")


if __name__ == "__main__":
    main()
