"""Criteria that no response can fail."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .criterion_words import criterion_words

_RESPONSE = (
    r"(?:it|the (?:answer|response|reply|text|output|summary|model|assistant|letter|e?-?mail|message|essay|story|report"
    r"|code|translation|review|explanation))"
)
_PERMITS = re.compile(
    rf"^(?P<who>{_RESPONSE}) (?:may or may not|may|might|could|can|need not|does not have to|is free to|is allowed to) "
    r"(?:also )?(?P<what>\w.*)",
    re.IGNORECASE,
)
_PERMITS_ALONE = re.compile(r"^(?:may|might|could|can) (?:also )?(?P<what>(?P<verb>\w+) [^?]*)$", re.IGNORECASE)
_TRIES = re.compile(
    r"\b(?:tries|attempts|aims|seeks|strives|endeavou?rs|does its best|makes an? (?:effort|attempt)"
    r"|(?<=\w )(?:try|attempt|aim|seek|strive)) to (?P<what>\w.*)",
    re.IGNORECASE,
)
_WAY_OUT = re.compile(
    r",?\s*\b(?:(?:if|where|wherever|when|whenever|as far as) (?:it is )?(?:at all )?"
    r"(?:possible|practical|feasible|desired|wanted|applicable|needed|necessary|relevant|appropriate|suitable)"
    r"|as (?:needed|necessary|appropriate|applicable)|ideally|preferably|optionally"
    r"|in (?:some|one|any) (?:way|form|sense)|to some (?:extent|degree)|somehow)\b,?\s*",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    rf"^(?:does )?(?:{_RESPONSE} )?(?:says?|contains?|mentions?) something (?:about|on) the "
    r"(?:topic|subject|question)[.?]?$"
    rf"|^(?:does )?(?:{_RESPONSE} )?(?:contains?|has|have|says?|includes?|consists? of|is made of) (?:some |any )?"
    r"(?:text|words?|content|characters|something|letters|sentences?)[.?]?$"
    rf"|^(?:is )?(?:{_RESPONSE} )?(?:is )?(?:written )?in (?:some|a|any|one) language[.?]?$"
    rf"|^(?:is )?(?:{_RESPONSE} )?(?:is )?(?:an? )(?:answer|response|reply|text)[.?]?$"
    rf"|^(?:does )?{_RESPONSE} exists?[.?]?$",
    re.IGNORECASE,
)
_WISH = re.compile(r"^it would be (?:nice|good|great|better|ideal|useful|helpful) (?:if|to)\b", re.IGNORECASE)
_EITHER = re.compile(
    r"\bor (?:(?:it|they|else) )?(?:(?:is|are|does|do|has|have|was|were)(?:n't| not)|not)(?: so)?[.?]?$"
    r"|(?<=^either )(?P<first>[^.?]*?),? or (?:it )?(?:is|are|does|do|has|have)(?:n't| not)\b"
    r"[^.?]*\b(?:it|them|that|so)[.?]?$",
    re.IGNORECASE,
)
_ANY_NUMBER = re.compile(
    r"\b(?:zero|0|none|no) or more\b|\bat least (?:zero|0|no)\b(?![.\d])|\bany number of\b", re.IGNORECASE
)
_OPEN_QUESTION = re.compile(r"^(?:how|what|why|which|who|when|where|to what extent|in what way)\b.*\?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unfailing:
    """Why a criterion cannot be failed, and a wording that can."""

    why: str
    wording: str = ""


def unfailing(text: str, *, binary: bool) -> Unfailing | None:
    """What keeps a criterion from being failed; None where it can be. `binary`: it is answered by yes or no.

    >>> unfailing("The answer may mention the side effects.", binary=True).wording
    'The answer has to mention the side effects.'
    """
    if match := _PERMITS.match(text):
        return Unfailing(
            "it permits something, which every response keeps to", f"{match['who']} has to {match['what']}"
        )
    if (match := _PERMITS_ALONE.match(text)) and match["verb"].lower() in criterion_words().all_verbs:
        return Unfailing("it permits something, which every response keeps to", f"Has to {match['what']}")
    if match := _TRIES.search(text):
        return Unfailing("trying is enough, and a failed try counts as one", _done(text, match))
    if match := _WAY_OUT.search(text):
        left = f"{text[: match.start()]} {text[match.end() :]}".strip().replace(" .", ".")
        return Unfailing(f"{match[0].strip(' ,')!r} is a way out for every response", left[:1].upper() + left[1:])
    if _WISH.match(text):
        return Unfailing("it is a wish", "Does the response … [say what has to be there]?")
    if _EMPTY.match(text):
        return Unfailing("every response has that", "Does the response … [say what in it has to be there]?")
    if (match := _EITHER.search(text)) and "whether" not in text.lower():
        left = match["first"] or text[: match.start()].rstrip(" ,")
        return Unfailing("it holds either way", left[:1].upper() + left[1:] + _mark(text))
    if match := _ANY_NUMBER.search(text):
        return Unfailing(f"{match[0]!r} holds of any number", text.replace(match[0], "one or more", 1))
    if binary and _OPEN_QUESTION.match(text):
        return Unfailing(
            "it is an open question: yes and no are no answers to it",
            "Does the response … [ask what can be true or false]?",
        )
    return None


def _done(text: str, match: re.Match[str]) -> str:
    """The same criterion with the thing itself in place of the try."""
    what = match["what"]
    return f"{text[: match.start()]}has to {what}".strip() if match.start() else f"Has to {what}"


def _mark(text: str) -> str:
    return "?" if text.rstrip().endswith("?") else "."
