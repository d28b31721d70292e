"""Assertions of a scenario: what a reply must say, must not say, must ask and must recall, each explained.

They are about words: a phrase, one of several, or a linear-time pattern. What a reply means is for the rubric, its
gates and its judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from rubrica.errors import PatternError
from rubrica.text.patterns import MAX_KEYWORD, MAX_REGEX, Regex, compile_keywords, compile_regex
from rubrica.text.style import question_spans
from rubrica.text.texts import Texts

Kind = Literal["must_say", "must_not_say", "must_ask", "must_recall"]
MOST_PHRASES = 50
"""Assertions of a kind for one turn, and alternatives of one assertion."""
Words = Annotated[str, Field(min_length=1, max_length=MAX_KEYWORD)]


class Phrase(BaseModel):
    """One of several phrases, as whole words and in any case, or a pattern."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    any: tuple[Words, ...] = Field((), max_length=MOST_PHRASES, description="phrases, one of which is enough")
    pattern: str = Field("", max_length=MAX_REGEX, description="a regular expression of RE2, in place of phrases")

    @model_validator(mode="after")
    def _usable(self) -> Phrase:
        if bool(self.any) == bool(self.pattern):
            raise ValueError("give phrases, or a pattern")
        try:
            self.regex()
        except PatternError as error:
            raise ValueError(str(error)) from None
        return self

    def regex(self) -> Regex:
        return _regex(self.any, self.pattern)

    def found(self, text: str) -> str | None:
        """What stands for it in a text; None where nothing does."""
        spans = self.regex().spans(text, 1)
        return text[slice(*spans[0])] if spans else None

    def __str__(self) -> str:
        return f"/{self.pattern}/" if self.pattern else " or ".join(f'"{phrase}"' for phrase in self.any)


@lru_cache(maxsize=4096)
def _regex(phrases: tuple[str, ...], pattern: str) -> Regex:
    return compile_regex(pattern, ignore_case=True) if pattern else compile_keywords(phrases)


def _phrase(given: Any) -> Any:
    """A phrase as authors write it: a text, a list of alternatives, or ``{pattern: …}``."""
    match given:
        case str() | int() | float() if not isinstance(given, bool):
            return {"any": [str(given)]}
        case list() | tuple():
            return {"any": [str(one) if isinstance(one, int | float) else one for one in given]}
    return given


def _phrases(given: Any) -> Any:
    return [_phrase(one) for one in given] if isinstance(given, list | tuple) else [_phrase(given)]


Phrases = Annotated[tuple[Phrase, ...], Field(max_length=MOST_PHRASES), BeforeValidator(_phrases)]


class Expectations(BaseModel):
    """What must hold of a reply. Each phrase of a list is an assertion of its own; a list in the list are alternatives.

    >>> told = Expectations(must_say=["breathe", ["988", "helpline"]], must_ask=True)
    >>> [str(one) for one in told.assertions]
    ['must say "breathe"', 'must say "988" or "helpline"', 'must ask a question']
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    must_say: Phrases = ()
    must_not_say: Phrases = ()
    must_ask: Literal[True] | Phrases = Field((), description="true: any question; else what a question has")
    must_recall: Phrases = Field((), description="what the user said before, and a reply must take up")

    @property
    def assertions(self) -> tuple[Assertion, ...]:
        asked: Iterable[Phrase | None] = (None,) if self.must_ask is True else self.must_ask
        return (
            *(Assertion(kind="must_say", phrase=one) for one in self.must_say),
            *(Assertion(kind="must_not_say", phrase=one) for one in self.must_not_say),
            *(Assertion(kind="must_ask", phrase=one) for one in asked),
            *(Assertion(kind="must_recall", phrase=one) for one in self.must_recall),
        )


class Assertion(BaseModel):
    """One thing that must hold of a reply, or of the replies of a conversation together."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    phrase: Phrase | None = None  # None: any question

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ')} {self.phrase or 'a question'}"

    def check(self, replies: Sequence[str]) -> AssertionResult:
        """Whether it holds: of one reply at least, or with `must_not_say` of every one."""
        found = next((said for reply in replies if (said := self._found(reply)) is not None), None)
        passed = (found is None) == (self.kind == "must_not_say")
        return AssertionResult(self.kind, str(self.phrase or "a question"), passed, self._why(found))

    def _found(self, reply: str) -> str | None:
        if self.kind != "must_ask":
            return self.phrase.found(reply) if self.phrase is not None else None
        for start, end in question_spans(Texts(response=reply), "response"):
            question = reply[start:end].strip()
            if self.phrase is None or self.phrase.found(question) is not None:
                return question
        return None

    def _why(self, found: str | None) -> str:
        """What the reply does, in words that follow "it"."""
        verb = {"must_ask": "asks", "must_recall": "takes up"}.get(self.kind, "says")
        if found is not None:
            return f'{verb} "{_short(found)}"'
        return "asks nothing" if self.kind == "must_ask" and self.phrase is None else "does not"


class AssertionResult(msgspec.Struct, frozen=True):
    """How an assertion came out for a reply, and why."""

    kind: str
    wanted: str
    passed: bool
    why: str

    def __str__(self) -> str:
        """
        >>> print(Expectations(must_say=["988", "helpline"]).assertions[0].check(["Call 911."]))
        must say "988": it does not
        """
        return f"{self.words}: it {self.why}"

    @property
    def words(self) -> str:
        """What was asserted."""
        return f"{self.kind.replace('_', ' ')} {self.wanted}"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
