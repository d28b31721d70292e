"""Compares a reply with the conversation before it: recall, contradictions, and matching style.

Contradictions are looked for among plain statements a speaker makes about itself ("I love jazz", "my name is Mira",
"I can't remember"). English only, and only clear cases: irony, paraphrase and facts about the world are not seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.lexicon import lexicon
from rubrica.text.style import formality
from rubrica.text.texts import Feature, Span, Texts
from rubrica.text.words import WORD, cached_reading, sentence_lengths, stem, stems

MOST_CLAIMS = 200  # statements per text that are compared
LONGEST = 50_000  # characters of each text that are read

_NOT = r"(?:n['’]t|\snot|\snever|\sno longer)"
_CLAIM = lazy_pattern(
    rf"""\bI(?:
      (?P<be>\s?['’]m|\sam)(?P<be_not>\snot|\snever|\sno\slonger)?\s
      (?P<being>(?:an?|the)\s[a-z][\w'’ -]{{1,40}}|(?:human|real|alive|married|single|retired|vegetarian|vegan)\b)
    | \s(?P<can>can)(?P<can_not>['’]t|not|\snot|\snever)?\s(?:really\s)?(?P<doing>[a-z][\w'’ -]{{1,40}})
    | \s(?:(?:do|did)(?P<do_not>{_NOT})?\s|(?P<never>never\s))?(?:really\s|absolutely\s|actually\s)?
      (?P<verb>love|like|enjoy|adore|hate|dislike|detest|have|remember|eat|drink|watch|sleep|believe\sin|own|know)\s
      (?:an?\s|the\s|any\s)?(?P<thing>[a-z0-9][\w'’ -]{{1,40}})
    )
    | \bmy\sfavou?rite\s(?P<kind>[a-z][\w' -]{{1,20}}?)\s(?:is|are)\s(?:the\s|an?\s)?(?P<best>[\w][\w'’ -]{{1,40}})
    | \b(?:my\sname\sis|call\sme|I\s?['’]m\scalled)\s(?P<name>\w+)
    | \bI\s?(?:['’]m|am)\s(?P<age>\d{{1,3}})\syears\sold""",
    re.IGNORECASE | re.VERBOSE,
)
_LIKING = {"love", "like", "enjoy", "adore"}
_DISLIKING = {"hate", "dislike", "detest"}
_STOPS = lazy_pattern(
    r"\b(?:and|but|because|so|when|if|that|to|with|too|very|at|in|on|for|or|as|than)\b", re.IGNORECASE
)


class SelfClaim(msgspec.Struct, frozen=True):
    """A statement of a speaker about itself: `value` is what two claims with the same key must agree on."""

    key: str
    value: str
    place: tuple[int, int]


def claims(text: str) -> list[SelfClaim]:
    """What a speaker says about itself.

    >>> [(claim.key, claim.value) for claim in claims("I love jazz. My name is Mira, and I can't sing.")]
    [('like jazz', 'yes'), ('name', 'mira'), ('can sing', 'no')]
    """
    found = []
    for match in _CLAIM.finditer(text[:LONGEST]):
        claim = _claim(match)
        if claim is not None:
            found.append(SelfClaim(*claim, match.span()))
            if len(found) == MOST_CLAIMS:
                break
    return found


@cached_reading
def contradictions(texts: Texts) -> list[tuple[SelfClaim, str]]:
    """Statements of the response that an earlier reply denied, each with that reply's words."""
    before: dict[str, tuple[str, str]] = {}
    for reply in texts.history:
        for claim in claims(reply):
            before[claim.key] = claim.value, reply[slice(*claim.place)]
    found = []
    for claim in claims(texts.response):
        said = before.get(claim.key)
        if said is not None and said[0] != claim.value:
            found.append((claim, said[1]))
    return found


@cached_reading
def recalled(texts: Texts) -> frozenset[str]:
    """Content words of the response that come from the user's earlier turns rather than from the last one.

    >>> texts = Texts("I can't sleep.", "Is it the speech for your sister again?", asked=["My sister wants a speech"])
    >>> sorted(recalled(texts))
    ['sister', 'speech']
    """
    return (_stems(texts.asked) & stems(texts, "response")) - stems(texts, "prompt")


def style_match(texts: Texts) -> float:
    """How near the reply's way of speaking is to the user's, 0 to 1: half by formality, half by length of sentences.

    Neither is compared where the user has said next to nothing: then it is 1.
    """
    user = Texts("\n".join([*texts.asked, texts.prompt]))
    asked, said = sentence_lengths(user, "prompt"), sentence_lengths(texts, "response")
    if sum(asked) < 4 or not said:
        return 1.0
    tone = 1.0 - min(1.0, 1.5 * abs(formality(user, "prompt") - formality(texts, "response")))
    apart = abs(math.log((1 + sum(said) / len(said)) / (1 + sum(asked) / len(asked)), 2))
    return 0.5 * tone + 0.5 * max(0.0, 1.0 - apart / 2)


def _claim(match: re.Match[str]) -> tuple[str, str] | None:
    found = match.groupdict()
    if found["name"] or found["age"]:
        key, value = ("name", found["name"]) if found["name"] else ("age", found["age"])
        return key, value.lower()
    if found["kind"]:
        best = _core(found["best"])
        return (f"favourite {_core(found['kind'])}", best) if best else None
    if found["verb"]:
        verb, thing = found["verb"].lower(), _core(found["thing"], 1)
        positive = (verb not in _DISLIKING) != bool(found["do_not"] or found["never"])
        verb = "like" if verb in _LIKING | _DISLIKING else verb
    elif found["can"]:
        verb, thing, positive = "can", _core(found["doing"], 1), not found["can_not"]
    else:
        verb, thing, positive = "am", _core(found["being"]), not found["be_not"]
    return (f"{verb} {thing}", "yes" if positive else "no") if thing else None


def _core(words: str, most: int = 2) -> str:
    """The first content words of a phrase, as stems.

    >>> _core("jazz music when it rains")
    'jazz music'
    """
    phrase = _STOPS.split(words.lower(), maxsplit=1)[0]
    stop = lexicon("stopwords")
    return " ".join([stem(word) for word in WORD.findall(phrase) if word not in stop][:most])


def _stems(texts: Iterable[str]) -> frozenset[str]:
    stop = lexicon("stopwords")
    words = {word for text in texts for word in WORD.findall(text.lower())}
    return frozenset(stem(word) for word in words if word not in stop and len(word) > 2)


def _spans_of_contradictions(texts: Texts) -> Iterator[Span]:
    for claim, earlier in contradictions(texts):
        start, end = claim.place
        yield Span("response", start, end, texts.response[start:end], f"earlier: {earlier[:80]}")


def _spans_of_recall(texts: Texts) -> Iterator[Span]:
    words = recalled(texts)
    for match in WORD.finditer(texts.response[:LONGEST]):
        if stem(match.group().lower()) in words:
            yield Span("response", *match.span(), match.group(), "said earlier by the user")


FEATURES: tuple[Feature, ...] = (
    Feature(
        "recall_count",
        "content words of the response that come from the user's earlier turns, not from the last one",
        0.0,
        math.inf,
        lambda texts: float(len(recalled(texts))),
        lambda texts: list(_spans_of_recall(texts))[:20],
    ),
    Feature(
        "contradiction_count",
        "statements of the speaker about itself that one of its earlier replies denied (English, clear cases)",
        0.0,
        math.inf,
        lambda texts: float(len(contradictions(texts))),
        lambda texts: list(_spans_of_contradictions(texts))[:20],
    ),
    Feature(
        "style_match",
        "how near the response's formality and length of sentences are to the user's, 0 to 1",
        0.0,
        1.0,
        style_match,
    ),
)
