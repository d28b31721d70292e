"""Reads the scores of several axes in a judge's prose, each by its name: in parts, in sentences and in tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rubrica.text.lazy_pattern import lazy_pattern

from .fence import JudgedTexts
from .scoreline import (
    DECORATION,
    END,
    LABELS,
    LONGEST_LIST,
    OUT_OF,
    VALUE,
    WrittenScore,
    bare_score,
    last_score,
    score_of_match,
    within_quotes,
)

_HEADING = lazy_pattern(
    r"^#{0,6}[ \t*_]{0,4}(?:\d{1,2}[.)] ?)?[*_]{0,3}(?P<title>[\w -]{1,80}?)[*_:]{0,4}[ \t]*$", re.M
)
_NO_AWARD = lazy_pattern(
    r"\b(?:deduct\w*|off|minus|los[et]\w*|subtract\w*|less|penal\w+|fewer|reference|human|others?|if|not|would|could|"
    r"max\w*|weights?)\b|n['’]t\b",
    re.I,
)
"""Words before a number that the judged text does not get."""
_BEHIND = (  # 7 for warmth
    r"(?:^|(?<=[.!?;:,]\s)|(?<=\band\s)|(?<=\bgive\s)|(?<=\baward\s)|(?<=\bassign\s)|(?<=\bof\s))[*_`]{0,3}"
    rf"(?P<value>{VALUE}){END}{OUT_OF}[*_`]{{0,3}} (?:points? )?(?:for|on|in) (?:the )?[*_`\"]{{0,3}}"
    r"(?P<label>NAMES)\b"
)
_BEFORE = (  # warmth a 7
    r"(?:^|(?<=[.!?;:,]\s)|(?<=\band\s)|(?<=\bgive\s)|(?<=\bgets\s)|(?<=\bassign\s)|(?<=\brate\s))"
    r"[*_`]{0,3}(?:the )?(?P<label>NAMES)[*_`]{0,3} (?:gets |at |with |as )?(?:an? )?[*_`]{0,3}"
    rf"(?P<value>{VALUE}){END}{OUT_OF}[*_`]{{0,3}}(?=[.;,]\s|[.;,]?(?:\s(?:and|for|because|since)\b|\s*$))"
)


def labelled_answers(
    text: str, quoted: JudgedTexts, labels: Sequence[str], answers: Collection[str]
) -> tuple[str, ...]:
    """The answers that the reply gives behind one of the labels, each a whole clause or the beginning of one.

    >>> labelled_answers("Kind: yes, very. Sourced: yes/no", JudgedTexts(), ("kind", "sourced"), ("yes", "no"))
    ('yes',)
    """
    names, words = ("|".join(re.escape(word).replace("_", "[ _-]") for word in own) for own in (labels, answers))
    pattern = re.compile(
        rf"(?:^|(?<=[.!?;|,)]\s)|(?<=\|)){DECORATION}(?P<stated>(?:{names})[*_`]{{0,3}}\??\s?(?:[:=|]|[-–—]\s|is\b)"
        rf"[\s*_`\"]{{0,5}}(?P<answer>{words})[*_`\"]{{0,4}}(?=\s?(?:$|[.,;|!(]|[-–—]\s)))(?P<rest>[^\n.;|]{{0,200}})",
        re.IGNORECASE | re.MULTILINE,
    )
    tagged = rf"<(?P<tag>{names})>\s?(?P<stated>(?P<answer>{words}))\s?</(?P=tag)>(?P<rest>)"
    found = [
        match
        for form in (pattern, re.compile(tagged, re.IGNORECASE))
        for match in form.finditer(text[-LONGEST_LIST:])
        if not within_quotes(match.string, match.start("stated")) and not quoted.says(match["stated"])
    ]
    if any(re.search(rf"\b(?:or|but|also)\b.{{0,40}}\b(?:{words})\b", match["rest"], re.I) for match in found):
        return ()
    return tuple(match["answer"] for match in found)


def leading_answer(text: str, answers: Collection[str]) -> str | None:
    """The answer that a reply begins with, where no other one is named in it.

    >>> leading_answer("No, it names none.", ("yes", "no")), leading_answer("No doubt.", ("yes", "no"))
    ('No', None)
    >>> leading_answer("Yes, but no year.", ("yes", "no")) is None
    True
    """
    words = "|".join(re.escape(word).replace("_", "[ _-]") for word in answers)
    found = re.match(rf"[\s*_#]*(?P<answer>{words})[*_]*(?=\s*\n|\s?[.,;:!—–](?!\s?\d)|\s-\s)", text, re.IGNORECASE)
    if found is None:
        return None
    others = {other.casefold() for other in re.findall(rf"\b(?:{words})\b", text[found.end() :], re.IGNORECASE)}
    return None if others - {found["answer"].casefold()} else found["answer"]


def section_score(
    text: str, quoted: JudgedTexts, labels: Collection[str], others: Collection[str]
) -> WrittenScore | None:
    """The score in the part of a reply that stands under one of the labels as its heading, up to the next heading.

    >>> reply = "### Warmth\\nKind.\\nScore: 7\\n### Relief\\nScore: 3"
    >>> section_score(reply, JudgedTexts(), ("warmth",), ("relief",)).value
    7.0
    """
    names = {name.casefold() for name in (*labels, *others)}
    titles = [match for match in _HEADING.finditer(text) if match["title"].casefold() in names]
    own = [place for place, match in enumerate(titles) if match["title"].casefold() in {x.casefold() for x in labels}]
    if len(own) != 1:
        return None
    end = titles[own[0] + 1].start() if own[0] + 1 < len(titles) else len(text)
    return last_score(text[titles[own[0]].end() : end], quoted)


def scores_for(text: str, quoted: JudgedTexts, labels: Collection[str]) -> dict[str, WrittenScore]:
    """The scores of sentences that name each label right beside its number; none unless every label is, once.

    >>> found = scores_for("I give 2 for warmth and 8/10 for relief.", JudgedTexts(), ("warmth", "relief"))
    >>> {label: score.value for label, score in found.items()}
    {'warmth': 2.0, 'relief': 8.0}
    >>> {label: s.value for label, s in scores_for("Warmth 2. Relief 8.", JudgedTexts(), ("warmth", "relief")).items()}
    {'warmth': 2.0, 'relief': 8.0}
    >>> scores_for("I take off 2 for warmth, 1 for relief.", JudgedTexts(), ("warmth", "relief"))
    {}
    """
    return next((found for form in (_BEHIND, _BEFORE) if (found := _scores_by(form, text, quoted, labels))), {})


def _scores_by(form: str, text: str, quoted: JudgedTexts, labels: Collection[str]) -> dict[str, WrittenScore]:
    names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    pattern = re.compile(form.replace("NAMES", names), re.IGNORECASE | re.MULTILINE)
    known = {label.casefold(): label for label in labels}
    found: dict[str, WrittenScore] = {}
    for match in pattern.finditer(text[-LONGEST_LIST:]):
        label, score = known[match["label"].casefold()], score_of_match(match)
        sentence = re.split(r"[.!?\n]\s", match.string[: match.start()])[-1]
        own = not (within_quotes(match.string, match.start()) or quoted.says(match[0]) or _NO_AWARD.search(sentence))
        if score is None or label in found or not own:
            return {}
        found[label] = score
    return found if len(found) == len(known) else {}


def table_row(text: str, quoted: JudgedTexts, labels: Collection[str]) -> dict[str, WrittenScore]:
    """The scores of a table whose columns are named by labels; none where it has several rows.

    >>> found = table_row("| Warmth | Relief |\\n|---|---|\\n| 2 | 8/10 |", JudgedTexts(), ("warmth", "relief"))
    >>> {label: score.value for label, score in found.items()}
    {'warmth': 2.0, 'relief': 8.0}
    """
    rows = [line.strip().strip("|").split("|") for line in text.split("\n") if line.count("|") > 1]
    cells = [[cell.strip(" \t*_`") for cell in row] for row in rows if not quoted.says("|".join(row))]
    known = {label.casefold(): label for label in labels}
    titles = [place for place, row in enumerate(cells) if sum(cell.casefold() in known for cell in row) > 1]
    body = [row for row in cells[titles[0] + 1 :] if any(cell.strip("-: ") for cell in row)] if len(titles) == 1 else []
    if len(body) != 1:
        return {}
    return {
        known[head.casefold()]: score
        for head, cell in zip(cells[titles[0]], body[0], strict=False)
        if head.casefold() in known and (score := bare_score(cell))
    }


def table_column(text: str, quoted: JudgedTexts, labels: Collection[str]) -> dict[str, WrittenScore]:
    """The scores of a table with a row for each label and a column of scores beside others.

    >>> found = table_column("| What | Max | Score |\\n|---|---|---|\\n| Warmth | 10 | 2 |", JudgedTexts(), ("warmth",))
    >>> found["warmth"].value
    2.0
    """
    known = {label.casefold(): label for label in labels}
    rows = [line.strip().strip("|").split("|") for line in text.split("\n") if line.count("|") > 1]
    cells = [[cell.strip(" \t*_`") for cell in row] for row in rows if not quoted.says("|".join(row))]
    places = [n for n, title in enumerate(cells[0]) if title.casefold() in (*LABELS, "points")] if cells else []
    if len(places) != 1:
        return {}
    scores = [
        (known[row[0].casefold()], score)
        for row in cells[1:]
        if row[0].casefold() in known and places[0] < len(row) and (score := bare_score(row[places[0]]))
    ]
    once = [label for label, _ in scores]
    return {label: score for label, score in scores if once.count(label) == 1}
