"""What ships for reading questions was made from the examples beside the training, and tells examples apart."""

from __future__ import annotations

from importlib import resources

from training.issue_classes import made_from as issues_made_from
from training.issue_classes import read_issues
from training.school_topics import made_from as topics_made_from
from training.school_topics import read_topics

from rubrica.education.issue_class import class_by_meaning, issue_head
from rubrica.education.taxonomy import CATEGORIES
from rubrica.text.questions.school_topics import FILE, read_vectors


def test_the_vectors_of_topics_were_made_from_these_examples() -> None:
    stored, written = read_vectors(resources.files("rubrica.text.questions") / FILE), read_topics()
    assert stored.made_from == topics_made_from(written)
    assert stored.names == tuple(topic.topic for topic in written)


def test_the_head_for_issues_was_made_from_these_examples() -> None:
    assert issue_head().made_from == issues_made_from(read_issues())
    assert issue_head().labels == CATEGORIES


def test_an_issue_is_placed_by_meaning_where_no_word_is_known() -> None:
    assert class_by_meaning("The author of this play lived two hundred years later", None, None) == "mathematical"
    assert class_by_meaning("The pictures and the letters of the choices have been lost", None, None) == "format"
    assert class_by_meaning("Wrong key", None, None) is None  # so short that words decide
