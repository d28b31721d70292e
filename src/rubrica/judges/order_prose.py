"""Reads an order of responses out of prose: ``[[A]]``, ``B > A``, ``Output (b) is better``, a numbered list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .fence import JudgedTexts
from .mark import UNREADABLE, NoScore
from .response_names import NOUN, ORDINALS, TIE_WORDS, Ranks, ResponseNames
from .scoreline import LONGEST_LIST, labelled_score, last_pair, within_quotes

AMBIGUOUS = NoScore("the reply names more than one winner")
TURNED = NoScore("the reply says that its order begins with the worst")
PLACES_OR_SCORES = NoScore("the reply gives 1 and 2, which may be places or scores")
_STATED = (
    r"(?:final |overall |my )?(?:choice|winner|preference|(?:preferred|better|best)(?: (?:response|output|answer))?|"
    r"verdict|decision|answer|ranking|order)"
)
_PYTHON_RANK = re.compile(
    r"['\"](?:model|response|label|name)['\"]\s?:\s?['\"]([^'\"\n]{1,40})['\"]\s?,\s?['\"]rank['\"]\s?:\s?(\d+)"
)
_TIE = re.compile(
    r"\b(?:it(?:'s| is) a (?:tie|draw)|both (?:\w+ )?(?:are|is) (?:equal|equally|about as)\b|(?:are|is) equally \w+|"
    r"neither (?:\w+ ){0,6}is better)\b",
    re.I,
)
_WORST_FIRST = re.compile(
    r"\b(?:worst|weakest|poorest|lowest|least good)(?: (?:one|response|answer|output))? "
    r"(?:to (?:the )?(?:best|strongest|highest)|(?:comes |is |being )?(?:first|at the top|on top))\b"
    r"|\bascending\b|\breversed? (?:order|ranking)\b"
    r"|\b(?:bottom|last|least)\b[^\n:]{0,30}\bto (?:the )?(?:top|first|most|best)\b",
    re.I,
)
_CONCLUDES = re.compile(
    r"(?:^|[.!?;\n]\s*)[\s*_#`]*(?:therefore|thus|hence|so|overall|finally|ultimately|consequently|as a result|"
    r"in (?:conclusion|summary|short|the end)|to (?:conclude|sum up)|all in all|on balance|final \w+|"
    r"for (?:these|this|that) reasons?|(?:based|given|considering|taking)\b[^.!?\n]{0,200})\b[^.!?;\n]{0,200}$",
    re.I,
)
"""What stands before a statement that sums up."""
_SCORES = re.compile(r"\b(?:scor|rat(?:e|ing)|grade|point|out of)|\d\s?/\s?\d", re.I)
_NOT_SAID = re.compile(
    r"(?:\b(?:not|never|hardly|cannot|(?:hard|difficult|impossible|unable) to)|n['’]t)\s(?:\w+\s){0,2}?"
    r"(?:say|think|believe|claim|agree|find|conclude|clear|sure|certain|convinced|argue|see|tell|decide|know|mean)\s"
    r"(?:\w+\s){0,2}$|\b(?:whether|if|unless|unclear|unsure|doubt)\s(?:\w+\s){0,2}$|\bneither\b[^.!?\n]{0,40}$|"
    r"\b(?:people|everyone|everybody|someone|somebody|some|many|most|others?|one|readers?|users?|you|they)\s(?:\w+\s){0,2}"
    r"(?:say|think|believe|claim|argue|find|feel|assume|expect)s?\s(?:\w+\s){0,2}$",
    re.I,
)
"""What stands before a statement that the judge does not make."""
_TURN = (
    r"\b(?:on (?:second thoughts?|(?:further |closer )?reflection)|actually|correction|rather|wait|no|make (?:that|it)|"
    r"i mean)\b[,:]?"
)
"""Words with which a judge takes back what it has just said."""
_ORDER = re.compile(r"\brank|\border|\bplace|\bbest to worst|\bstrongest to", re.I)
_NO_QUALITY = re.compile(
    r"\b(?:length|longest|shortest|alphabetic\w*|errors?|mistakes?|faults?|flaws?|words|size)\b|"
    r"\b(?:as|order|were|are) (?:given|shown|presented|received)\b|\bno particular order\b",
    re.I,
)
"""Words before an order that is one of something else, or none."""
_NEXT_PIECE = re.compile(
    rf"[,;]|\s(?=#?\d{{1,2}}[.)]\s)|(?<=[.])\s(?=(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)})\b)", re.I
)
_BETTER = r"(?:better|best|preferred|preferable|superior|stronger)"
_DEGREE = r"(?:slightly|marginally|somewhat|much|far|clearly|significantly|a (?:bit|little))"
_NOT = r"(?:not|no|never|hardly|neither)\b"
_MARKS = ' \t\r\n#*_`."✅✓☑🏆👑🥇'
"""What may stand around the name of a response that is all of a line."""
_ARROWS = re.compile(r"\s?(?:→|->|≻|\bthen\b|\bfollowed by\b)\s?", re.I)


def order_in_prose(text: str, names: ResponseNames, quoted: JudgedTexts) -> dict[str, float] | NoScore:
    """The order that a text states: what binds most is looked for first, and must not contradict itself."""
    found = _stated_order(text, names, quoted)
    if isinstance(found, dict) and (taken_back := _turned_to(text, names)) and taken_back != found:
        return AMBIGUOUS
    return found


def _turned_to(text: str, names: ResponseNames) -> dict[str, float] | None:
    """Which of two is named alone behind words that take something back: ``On second thought, B.``"""
    said = re.compile(
        rf"(?i:(?:{_TURN}\s){{1,3}}"
        rf"(?:(?:i(?:['’]d| would)?|it(?:['’]s| is)|go with|prefer|choose|say|the better one is)\s){{0,3}}"
        rf"(?:{NOUN}\s)?)[\[(]{{0,2}}(?P<label>{names.pattern})[\])]{{0,2}}[*_]{{0,2}}(?=[.!]|\s*$|\sis\b)",
        re.MULTILINE,
    )
    turned = [match for match in said.finditer(text) if not within_quotes(text, match.start())]
    if not turned or re.search(rf"\b(?:{names.pattern})\b", text[turned[-1].end() :]):
        return None  # more is said of them, and that counts
    return names.best(names.own(turned[-1]["label"]))


def _stated_order(text: str, names: ResponseNames, quoted: JudgedTexts) -> dict[str, float] | NoScore:
    binding = list(_bracketed(text, names, quoted))
    if binding:
        return _agreed(binding)
    places = {names.label(name): float(place) for name, place in _PYTHON_RANK.findall(text)}
    if places and (ranks := names.by_number({label: place for label, place in places.items() if label is not None})):
        return ranks
    lines = [line for line in text.strip().split("\n") if line.strip()]
    orders = list(_orders(text, names, quoted))
    if orders:
        return TURNED if _WORST_FIRST.search(text) else _agreed(orders)
    for statements in (_better(text, names, quoted), list(_stated(text, names, quoted))):
        if statements:
            return _agreed(statements)
    alone = [names.label(line.strip(_MARKS)) for line in (text, *lines[:1], *lines[-1:])]
    if named := {label for label in alone if label}:
        return AMBIGUOUS if len(named) > 1 else names.best(named.pop()) or UNREADABLE
    if len(names.labels) == 2 and (_TIE.search(text) or text.strip(" \n*_`.!").lower() in TIE_WORDS):
        return names.best(None) or UNREADABLE
    if numbered := _numbered(lines, names):
        return TURNED if _WORST_FIRST.search(text) else numbered
    return _from_scores(text, names, quoted) or _best_and_worst(text, names, quoted) or UNREADABLE


def _agreed(statements: Sequence[dict[str, float]]) -> dict[str, float] | NoScore:
    return statements[-1] if all(ranks == statements[0] for ranks in statements) else AMBIGUOUS


def _bracketed(text: str, names: ResponseNames, quoted: JudgedTexts) -> Iterator[dict[str, float]]:
    """``[[A]]``, ``[[B>A]]``, ``[[A=B]]``, ``[[tie]]``; of two, ``[[C]]`` is a tie as MT-bench has it.

    ``<answer>A</answer>`` and a boxed answer bind as much.
    """
    for match in re.finditer(
        r"\[\[([^\[\]\n]{1,80})\]\]|\\boxed\{([^{}\n]{1,80})\}|<(?:answer|verdict|choice)>([^<\n]{1,80})</", text, re.I
    ):
        if within_quotes(text, match.start()) or quoted.contains_text(match[0]):
            continue
        answer = (match[1] or match[2] or match[3]).strip()
        if label := names.label(answer):
            ranks = names.best(label)
        elif answer.lower() in TIE_WORDS or (answer == "C" and names.labels in (("A", "B"), ("a", "b"))):
            ranks = names.best(None)
        else:
            ranks = written_order(answer, names)
        if ranks:
            yield ranks


def written_order(text: str, names: ResponseNames) -> dict[str, float] | None:
    """``B > A = C``, ``B, A, C``, ``B A C``, ``B, then A, then C``."""
    text = _ARROWS.sub(">", re.sub(r",\s?(?=then\b|followed\b)", " ", text))
    separator = ">" if ">" in text else "," if "," in text else "<" if "<" in text else None
    if separator is None and "=" not in text:
        parts = text.split()
    else:
        parts = re.split(r">+" if separator == ">" else re.escape(separator or "\0"), text)
    groups = []
    for part in reversed(parts) if separator == "<" else parts:
        labels = [names.label(own.strip(" *_`")) for own in re.split("[=~]", part)]
        if any(label is None for label in labels):
            return None
        groups.append([label for label in labels if label is not None])
    return names.ranked(groups)


def _orders(text: str, names: ResponseNames, quoted: JudgedTexts) -> list[dict[str, float]]:
    """Orders on a line of their own, perhaps behind a lead-in; a mere list counts where there is nothing else."""
    line = r"^[ \t#*_-]{0,6}(?P<lead>[^\n:>]{0,60}:)?[*_ ]{0,4}(?P<order>[^\n:]{3,200})$"
    orders: list[dict[str, float]] = []
    lists: list[dict[str, float]] = []
    for match in re.finditer(line, text, re.M):
        order = match["order"]
        if quoted.says(order) or within_quotes(text, match.start("order")) or _NO_QUALITY.search(match["lead"] or ""):
            continue
        for lead in re.finditer(
            rf"(?i:{_STATED}|(?:the |my )?(?:ranking|order) is|best to worst)[*_ ]{{0,4}}:?[*_ ]{{1,4}}", order
        ):
            order = order[lead.end() :] if lead.start() == 0 else order
        if (re.search("[>,=<]", order) or _ARROWS.search(order)) and (
            ranks := written_order(order.strip(" .*_`"), names)
        ):
            stated = match["lead"] or re.search("[><]", order) or order != match["order"]
            (orders if stated else lists).append(ranks)
    return orders or lists


_NAMED_BY = ("label", "bare", "other", "brief", "sure", "last", "worse")


def _better(text: str, names: ResponseNames, quoted: JudgedTexts) -> list[dict[str, float]]:
    """``Output (b) is better``, ``I prefer Response A``, ``A wins``, ``The first answer is better``, ``So, B.``

    Of statements that differ, those that sum up count, from the last sentence that does.
    """
    is_better = rf"(?i:(?:is|as|was)\s(?:(?!{_NOT})\w+\s){{0,3}}?(?:{_BETTER}|winner)\b|wins\b|outperforms\b|beats\b)"
    named = rf"\b(?i:{NOUN})\s?[\[(]{{0,2}}(?P<label>{names.pattern}|\d)[\])]{{0,2}}(?:['’]s (?i:{NOUN}))?\s{is_better}"
    bare = rf"(?<![\w'’-])(?P<bare>(?-i:{names.written}))\s{is_better}"
    shown = rf"(?i:\bthe (?P<place>{'|'.join(ORDINALS)}|former|latter)(?: {NOUN}| one)?\s{is_better})"
    prefer = (
        r"(?i:\b(?:I (?:\w+ )?|strongly |slightly |clearly )(?:prefer|choose|pick)|\bthe (?:better|best) \w+ is"
        r"|\b(?:the|my) (?:winner|choice|pick|answer) is:?)\s"
        rf"(?:(?i:{NOUN})\s)?[\[(]{{0,2}}(?P<other>{names.pattern})\b"
    )
    better_than = (
        rf"(?:^|(?<=[.!?]\s))(?P<brief>(?-i:{names.written}))\s"
        rf"(?i:(?:{_DEGREE}\s)?better than\s)"
    )
    sure = (
        rf"^(?:(?i:{NOUN})\s)?(?P<sure>(?-i:{names.written})),?\s"
        r"(?i:hands down|by far|clearly|definitely|easily|without (?:a |any )?(?:doubt|question))[\s.*!]{0,4}\Z"
    )
    last = (
        r"\b(?i:therefore|thus|hence|so|overall)[,:]?\s"
        rf"(?:(?i:{NOUN})\s)?(?P<last>(?-i:{names.written}))[\s.*!]{{0,4}}\Z"
    )
    worse = (
        rf"(?<![\w'’-])(?:(?i:{NOUN})\s)?(?P<worse>(?-i:{names.written}))\s"
        rf"(?i:(?:is|was)\s(?:{_DEGREE}\s)?(?:worse|weaker) than\s)"
    )
    elsewhere = re.compile(
        rf"\sthan\s(?!(?:{NOUN}\s)?[\[(]{{0,2}}(?:{names.pattern}|\d)\b|(?:the|its|his) )"  # better than expected
        r"|\s(?:written|worded|structured|formatted|organi[sz]ed|phrased|presented|explained)\b[^.!?\n]{0,80}?"
        r"\b(?:but|however|though|although|while|whereas|yet)\b",
        re.IGNORECASE,
    )
    found: list[dict[str, float]] = []
    sums_up: list[tuple[int, dict[str, float]]] = []  # with where its sentence begins
    for match in re.finditer(f"{named}|{bare}|{shown}|{prefer}|{better_than}|{sure}|{last}|{worse}", text, names.flags):
        before = text[max(0, match.start() - 400) : match.start()]
        rest = text[match.end() : match.end() + 200]
        if (
            rest.lstrip().startswith("?")
            or elsewhere.match(rest)
            or within_quotes(text, match.start())
            or quoted.says(match[0])
            or _NOT_SAID.search(before)
        ):
            continue
        answer = next((own for name in _NAMED_BY if (own := match[name])), None)
        label = names.at(match["place"]) if match["place"] else names.label(f"Response {answer}")
        if label is None or not (ranks := names.best(label)):
            continue
        if match["worse"]:
            ranks = {own: 3 - rank for own, rank in ranks.items()}
        found.append(ranks)
        if re.match(r"\s(?:only\s)?(?:if|unless)\b", rest, re.I):
            found.append({own: 3 - rank for own, rank in ranks.items()})  # else it is the other one
        elif match["last"]:
            sums_up.append((match.start(), ranks))
        elif concluding := _CONCLUDES.search(before):
            sums_up.append((match.start() - len(before) + concluding.start(), ranks))
    if sums_up:
        return [ranks for start, ranks in sums_up if start == sums_up[-1][0]]
    return found


def _stated(text: str, names: ResponseNames, quoted: JudgedTexts) -> Iterator[dict[str, float]]:
    """``Winner: B``, ``Preference: Response (a)``, ``Verdict: tie``."""
    line = rf"^[ \t#*_-]{{0,6}}(?:\w+, |the )?{_STATED}[*_ ]{{0,4}}[:=→][*_ ]{{0,4}}([^\n]{{1,60}})$"
    for match in re.finditer(line, text, re.I | re.M):
        if within_quotes(text, match.start(1)) or quoted.says(match[0]):
            continue
        answer = match[1].strip(" *_`\"'.!")
        label = names.label(answer) or _explained(answer, names)
        ranks = names.best(label) if label or answer.lower() in TIE_WORDS else None
        if ranks:
            yield ranks


def _explained(answer: str, names: ResponseNames) -> str | None:
    """The response of ``B (it has the year)`` or ``B, because …``, where no other one is named behind it."""
    found = re.match(
        rf"(?:(?i:{NOUN})\s)?[\[(]{{0,2}}({names.pattern})[\])]{{0,2}}[*_]{{0,2}}(?:\s?[(,;—–]|\s-\s|\s(?:because|since|as)\b)",
        answer,
        names.flags,
    )
    rest = answer[found.end() :] if found else ""
    if not found or re.search(rf"\b(?:{names.pattern})\b", rest, names.flags) or re.search(_TURN, rest, re.I):
        return None
    return names.own(found[1])


def _numbered(lines: Sequence[str], names: ResponseNames) -> dict[str, float] | NoScore | None:
    """A numbered list: ``1. Response B``, ``First: B``, ``1st: B, 2nd: A``, a table of places, ``B (1), A (2)``.

    Two lists that differ, and a list whose scores rise, say two things. Sentences about the responses as they were
    shown are notes rather than places, unless something is said of an order.
    """
    ordinals = "|".join(ORDINALS)
    number = rf"(?:(?P<number>\d{{1,2}})(?:st|nd|rd|th)?|(?P<word>{ordinals}))"
    equals = rf"(?P<equals>(?:\s?(?:,|&|=|\band\b)\s?(?i:{NOUN}\s)?(?-i:{names.written})\b)*)(?=\W|$)"
    place = rf"(?:\||#|rank )?\s?{number}(?: place)?\s?[.):|-]"
    named = rf"\s*[*_\[(]{{0,3}}(?i:{NOUN}\s?)?[*_\[(]{{0,3}}(?P<label>{names.pattern})\b{equals}(?P<rest>.*)"
    behind = rf"(?i:{NOUN}\s?)?\b(?P<label>{names.pattern})\s?\((?:#|rank )?(?P<number>\d{{1,2}})\)(?P<rest>.*)"
    after = (
        rf"(?i:{NOUN}\s?)?\b(?P<label>{names.pattern})\s?[:=–-]\s?(?P<number>\d{{1,2}})(?:st|nd|rd|th)(?P<rest>\W*)$"
    )
    for pattern in (rf"\s*(?i:{place}){named}", behind, after):
        given: dict[str, float] = {}
        scores: dict[str, float] = {}
        sentences = 0
        for piece in _pieces(lines):
            if match := re.match(pattern, piece, names.flags):
                label, word = names.own(match["label"]), match.groupdict().get("word")
                at = float(ORDINALS.index(word.lower()) + 1 if word else match["number"])
                also = re.findall(rf"(?-i:{names.written})\b", match.groupdict().get("equals") or "")
                if any(given.setdefault(own, at) != at for own in (label, *map(names.own, also))):
                    return AMBIGUOUS
                sentences += re.match(r"\s[a-z]", match["rest"]) is not None
                if score := re.match(
                    r"[^\d\n]{0,20}?(\d+(?:\.\d+)?)(?:\s?(?:/|out of)\s?\d+|\s?points?)?\W*$", match["rest"]
                ):
                    scores[label] = float(score[1])
        if len(given) == len(names.labels) and (ranks := names.by_number(given)):
            if sentences == len(given) and tuple(given) == names.labels and not _ORDER.search("\n".join(lines)):
                return None
            return AMBIGUOUS if scores and not _falling(scores, ranks) else ranks
    return None


def _falling(scores: Mapping[str, float], ranks: Ranks) -> bool:
    """Whether scores beside places say the same as the places."""
    if len(scores) < len(ranks):
        return False
    along = [scores[label] for label in sorted(scores, key=lambda label: ranks[label])]
    return along == sorted(along, reverse=True)


def _pieces(lines: Sequence[str]) -> list[str]:
    """The lines of a reply; of a single one, what stands between commas or before the next number of a list."""
    if len(lines) > 1:
        return list(lines)
    return [piece.strip() for line in lines for piece in _NEXT_PIECE.split(line)]


def _from_scores(text: str, names: ResponseNames, quoted: JudgedTexts) -> dict[str, float] | NoScore | None:
    """Scores in place of an order: ``9 8.5`` on the first line, ``Assistant A: 4/10`` and ``Assistant B: 7``.

    Of more than two, all out of the same: ``A: 7, B: 3, C: 9`` may be places.
    """
    for noun in ("Assistant ", "Response ", "Output ", ""):
        if len(names.labels) == 2:
            pair = last_pair(text, (f"{noun}{names.labels[0]}", f"{noun}{names.labels[1]}"))
            if pair is not None:
                unclear = set(pair) == {1, 2} and not _SCORES.search(text)
                return PLACES_OR_SCORES if unclear else names.by_score(dict(zip(names.labels, pair, strict=True)))
            continue
        found = {label: labelled_score(text, quoted, (f"{noun}{label}",)) for label in names.labels}
        scores = {label: score.value for label, score in found.items() if score is not None and score.top is not None}
        if len(scores) == len(found) and len({score.top for score in found.values() if score is not None}) == 1:
            return names.by_score(scores)
    return None


def _best_and_worst(text: str, names: ResponseNames, quoted: JudgedTexts) -> dict[str, float] | None:
    """Of three, the best and the worst: ``C is best, B is last``, ``Best: C``, ``Worst: B``."""
    if len(names.labels) != 3:
        return None
    text = text[-LONGEST_LIST:]
    ends: list[set[str]] = []
    for words in ("best|strongest|first", "worst|weakest|last"):
        said = re.finditer(
            rf"(?<![\w'’-])(?:(?i:{NOUN})\s)?(?P<label>(?-i:{names.written}))\s(?i:is|comes)\s(?i:(?:the )?(?:{words}))"
            rf"(?=\s*(?:[.,;!\n]|$))|(?:^|(?<=[.,;]\s))[*_]{{0,3}}(?i:{words})[*_]{{0,3}}:[*_]{{0,3}}\s(?:(?i:{NOUN})\s)?"
            rf"(?P<behind>(?-i:{names.written}))(?=\s*(?:[.,;!(\n]|$))",
            text,
            re.MULTILINE,
        )
        own = [match for match in said if not within_quotes(text, match.start()) and not quoted.says(match[0])]
        ends.append(
            {
                match["label"] or match["behind"]
                for match in own
                if not _NOT_SAID.search(text[max(0, match.start() - 400) : match.start()])
            }
        )
    if len(ends[0]) != 1 or len(ends[1]) != 1:
        return None
    best, worst = ends[0].pop(), ends[1].pop()
    return names.ranked([[best], [label for label in names.labels if label not in (best, worst)], [worst]])
