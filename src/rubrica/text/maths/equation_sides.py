"""The expressions beside an equals sign in running text, units and all, and what makes them doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import ArithmeticToken, tokens_of


class EquationSide(msgspec.Struct, frozen=True):
    """The expression next to an equals sign, and what makes its reading doubtful."""

    tokens: tuple[ArithmeticToken, ...]  # without unit words
    start: int
    end: int
    units: frozenset[str] = frozenset()  # words of measure beside its numbers
    doubt: bool = False
    loose: bool = False  # "about", "roughly"
    plain: bool = False  # nothing else, not even a unit, stands between this sign and the one before it


def listed_words(listed: str) -> frozenset[str]:
    """The words of a list that is written with spaces."""
    return frozenset(listed.split())


# Words of measure, by what they measure: two of one kind in one equation may be a conversion.
MEASURES = {
    word: kind
    for kind, listed in {
        "scale": "dozen hundred thousand million billion pair couple half third fourth fifth percent score k",
        "time": "hour hr h minute min second sec s day week month year decade century am pm a.m p.m noon",
        "length": "foot feet ft inch inche in yard yd mile mi mm cm m km meter metre kilometer centimeter",
        "mass": "g kg mg gram kilogram ounce oz pound lb ton tonne",
        "volume": "liter litre l ml gallon quart pint cup",
        "money": "cent penny pennie nickel dime quarter dollar",
        "rest": "remainder r",
    }.items()
    for word in listed.split()
}
_GLUED = listed_words("mm cm m km g kg mg l ml h hr hrs s sec min mins ft in lb lbs oz mph cents °") | {
    "°C",
    "°F",
    "° C",
    "° F",
}
# A word beside a number that changes what the number is worth: then a mismatch proves nothing.
OPERATIVE = listed_words(
    "sin cos tan cot sec csc log ln exp sqrt root mod modulo choose half twice double triple thrice third "
    "quarter fourth fifth sixth eighth tenth percent minus plus times divided multiplied less more over by "
    "power squared cubed square cube factorial negative than dozen hundred thousand million billion if "
    "suppose let when not base gcd lcm max abs day step question part page chapter"
)
_OPERATIVE_BEFORE = OPERATIVE | {"per", "at"}
_SCALING = listed_words("dozen hundred thousand million billion percent half squared cubed times")
_ABOUT = listed_words("about approximately approx around roughly nearly almost")
_SKIPPED = _ABOUT | {"only", "just", "exactly"}
_STOPS = frozenset(".,;:")
_LEADS_IN = frozenset(">⇒→∴;|")  # glued to an expression, they are no part of it
_OPENERS = listed_words("and so since as that because then thus hence , ; .")  # a number behind one stands for itself
_EUROPEAN = lazy_pattern(r"[1-9]\d{0,2}(?:\.\d{3})+$")  # 1.500 may be one and a half, or fifteen hundred


def computes(side: EquationSide) -> bool:
    """Whether a side does something with its numbers, rather than state one."""
    if any(one.kind in {"number", "close"} and two.kind == "open" for one, two in pairwise(side.tokens)):
        return True  # 4(9)
    return any(token.kind in {"operator", "root", "power"} for token in side.tokens[1:]) or (
        side.tokens[0].kind == "root" or any(sign in side.tokens[0].text for sign in "!CP\\")
    )


def left_side(line: str, start: int, stop: int, edge: int) -> EquationSide | None:
    """The longest expression that ends at `stop`, with the unit words after its numbers.

    None if there is none, or if it may begin before `start`, towards `edge`.
    """
    read = tokens_of(line[start : stop + 1])  # with the sign after it: 4! is a number there
    tokens = _typed([token for token in read if token.start < stop - start], start)
    first, depth, index = len(tokens), 0, len(tokens) - 1
    while index >= 0:
        token = tokens[index]
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        if token.kind == "close":
            if after is not None and after.kind in {"number", "money", "root"}:
                break
            depth += 1
        elif token.kind == "open":
            if depth == 0:
                break
            depth -= 1
        elif token.kind == "number":
            if after is not None and after.kind in {"number", "money"} and after.text not in "¢£€":
                break
            if after is not None and after.kind == "open" and after.start > token.end and not _begins(tokens, index):
                break
        elif token.kind == "word":
            owner = _owner(tokens, index)
            if owner is None or (after is not None and after.kind not in {"operator", "close"}):
                break
            first, index = min(first, owner + 1), owner
            continue
        elif token.kind == "other":
            break
        first, index = index, index - 1
    kept = tokens[first:]
    if not kept or depth or (first == 0 and start != edge):
        return None
    before = tokens[first - 1] if first else None
    earlier = tokens[first - 2] if first > 1 else None
    if before is not None and before.text == ":" and earlier is not None and earlier.kind == "word":
        before = None  # "Total:5+14" is a label, 3:30 is a time
    alone = len(kept) == 1 and before is not None and _opens(before, earlier)
    side = _side(kept, before, whole=alone or (first == 0 and start == edge))
    in_ratio = before is not None and earlier is not None and _is_ratio(earlier, before, kept[0])
    return side and replace(side, doubt=side.doubt or in_ratio)


def _begins(tokens: Sequence[ArithmeticToken], index: int) -> bool:
    """Whether a number begins what stands between two signs, or goes on with it: 10 (6 + 76), 20/2 (6 + 76)."""
    return tokens[index - 1].kind == "operator" if index else True


def _opens(sign: ArithmeticToken, earlier: ArithmeticToken | None) -> bool:
    """Whether a number after a word or stop stands for itself: "so 12 = 3 x 4", but not "Rs. 12 = 3 x 4"."""
    shortened = sign.text == "." and earlier is not None and earlier.kind == "word" and len(earlier.text) < len("four")
    return sign.text.lower() in _OPENERS and not shortened


def _is_ratio(one: ArithmeticToken, sign: ArithmeticToken, two: ArithmeticToken) -> bool:
    """Whether a colon joins two numbers, as in 3:4 and 3 : 4; "4: 20 + 3" has a label."""
    even = (one.end == sign.start) == (sign.end == two.start)
    return sign.text == ":" and one.kind in {"number", "close"} and even


def right_side(line: str, start: int, stop: int, edge: int) -> EquationSide | None:
    """The longest expression that begins at `start`; None if it may go on past `stop`, towards `edge`."""
    read = tokens_of(line[start : stop + 1])  # as above
    tokens = _typed([token for token in read if token.start < stop - start], start)
    begin = 0
    while begin < len(tokens) and (tokens[begin].text.lower() in _SKIPPED or tokens[begin].text == "~"):
        begin += 1
    loose = any(token.text.lower() in _ABOUT or token.text == "~" for token in tokens[:begin])
    index, last, depth = begin, begin, 0
    expects = True  # a number, rather than an operator
    while index < len(tokens):
        token = tokens[index]
        if expects and token.kind == "number":
            expects = False
        elif expects and (token.kind in {"money", "root"} or token.text in {"-", "+"}):
            pass
        elif token.kind == "open" and (expects or token.start == tokens[index - 1].end):
            depth, expects = depth + 1, True
        elif not expects and token.kind == "close" and depth:
            depth -= 1
        elif not expects and token.kind in {"percent", "power", "money"}:
            pass
        elif not expects and token.kind == "root" and token.start == tokens[index - 1].end:
            expects = True  # 5√3
        elif not expects and token.kind == "operator":
            expects = True
        elif not expects and token.kind == "word" and _leads_to_operator(tokens, index):
            pass
        else:
            break
        index += 1
        if not expects and depth == 0:
            last = index
    kept = tokens[begin:last]
    if not kept or (index == len(tokens) and stop != edge):
        return None
    side = _side(kept, None, whole=last == len(tokens), trail=tokens[last : last + 6])
    return side and replace(side, loose=loose)


def _typed(tokens: Sequence[ArithmeticToken], offset: int) -> list[ArithmeticToken]:
    """The tokens at their place in the line, words told apart: units, variables, and words that multiply."""
    typed: list[ArithmeticToken] = []
    for index, token in enumerate(tokens):
        before = typed[-1] if typed else None
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        placed = token._replace(start=token.start + offset, end=token.end + offset)
        if token.kind == "word" and before is not None:
            operand = after is not None and after.kind in {"number", "open", "money", "root"}
            if operand and _multiplies(token, before):
                placed = placed._replace(kind="operator", text="*")
            elif _is_rate(typed, placed):
                typed.pop()  # "$12/pizza": a unit, not a division
            elif _is_variable(placed, before):
                placed = placed._replace(kind="other")
        elif token.text == "-" and before is not None and before.text in {"-", "/"} and before.end == placed.start:
            placed = placed._replace(kind="other")  # "25/-" is a price, "--" a dash
        typed.append(placed)
    return typed


def _multiplies(word: ArithmeticToken, before: ArithmeticToken) -> bool:
    match word.text.lower():
        case "x":
            return before.kind in {"number", "close", "percent", "word", "money"}
        case "of":
            return before.kind in {"number", "percent"}
        case _:
            return False


def _is_rate(typed: Sequence[ArithmeticToken], word: ArithmeticToken) -> bool:
    if len(typed) < 2 or typed[-1].text != "/" or (len(word.text) == 1 and word.text not in MEASURES):
        return False
    return typed[-1].end == word.start


def _is_variable(word: ArithmeticToken, before: ArithmeticToken) -> bool:
    if before.kind == "number" and before.end == word.start:
        return word.text not in _GLUED
    base = word.text.lower().rstrip("²³").split("^", maxsplit=1)[0]
    article = word.text.lower() == "a"  # a^2 is none
    return before.text == "/" or (len(base) == 1 and base not in MEASURES and not article)


def _owner(tokens: Sequence[ArithmeticToken], index: int) -> int | None:
    """The number that the run of up to four words ending at `index` belongs to, if there is one."""
    for place in range(index, max(-1, index - 5), -1):
        if tokens[place].kind in {"number", "percent", "close", "money"}:
            return place
        if tokens[place].kind != "word":
            return None
    return None


def _leads_to_operator(tokens: Sequence[ArithmeticToken], index: int) -> bool:
    """Whether words from `index` on are the unit of a number in mid-expression: "12 cubes + 5"."""
    for place in range(index, min(len(tokens) - 1, index + 4)):
        if tokens[place].kind == "operator":
            return tokens[place + 1].kind in {"number", "open", "money", "root"}
        if tokens[place].kind != "word":
            return False
    return False


def _side(
    kept: Sequence[ArithmeticToken],
    before: ArithmeticToken | None,
    *,
    whole: bool,
    trail: Sequence[ArithmeticToken] = (),
) -> EquationSide | None:
    signed = len(kept) > 1 and kept[0].end == kept[1].start and before is not None and before.text in _STOPS
    dangling = kept[0].kind == "operator" and ((before is not None and not signed) or kept[0].text not in "+-")
    called = (
        before is not None
        and before.end == kept[0].start
        and before.kind not in {"open", "money"}
        and before.text not in _LEADS_IN
    )
    if dangling or called or kept[-1].kind in {"operator", "open"}:
        return None
    words = [token.text.lower() for token in kept if token.kind == "word"]
    doubt = (
        (before is not None and before.kind in {"number", "percent", "close"})
        or (before is not None and before.text.lower() in _OPERATIVE_BEFORE)
        or (bool(trail) and _goes_on(kept, trail))
        or any(word in OPERATIVE for word in words)
        or any(_EUROPEAN.match(token.text) for token in kept if token.kind == "number")
        or _is_ambiguous(kept)
    )
    after = [token.text.lower() for token in trail[:1] if token.kind == "word"]
    units = {_singular(word) for word in (*words, *after)} & MEASURES.keys()
    if any(token.text == "¢" for token in kept):
        units |= {"cent"}
    bare = tuple(token for token in kept if token.kind != "word")
    plain = whole and not words and not any(token.kind == "percent" for token in kept)
    return EquationSide(bare, kept[0].start, kept[-1].end, frozenset(units), doubt, plain=plain)


def _goes_on(kept: Sequence[ArithmeticToken], trail: Sequence[ArithmeticToken]) -> bool:
    """Whether what follows the last number may belong to it: 18 000, 3 thousand, 2 hours 15 minutes."""
    first = trail[0]
    if first.kind == "word":
        measured = _singular(first.text.lower()) in MEASURES
        return first.text.lower() in _SCALING or (measured and any(item.kind == "number" for item in trail[1:3]))
    if first.text == ":" and trail[1:] and trail[1].kind in {"number", "open"}:
        return True  # a ratio
    if first.start > kept[-1].end and first.kind == "open" and len(trail) > 2:
        return trail[1].kind == "number" and trail[2].kind != "word"  # 37 (2 + 3), rather than a remark
    if first.text == ":" and len(trail) > 1 and trail[1].start > first.end:
        return False
    glued = first.start == kept[-1].end and first.text not in ".,;)!]*_\"'”’$"
    return glued or first.kind in {"number", "operator", "open"}


def _is_ambiguous(tokens: Sequence[ArithmeticToken]) -> bool:
    """Whether people read it in two ways: 28 / 1/5, 6 / (2)(3), 5h + 2, sum/7."""
    divisions = [index for index, token in enumerate(tokens) if token.kind == "operator" and token.text == "/"]
    repeated = any(
        not any(token.kind in {"operator", "open", "close"} for token in tokens[one + 1 : two])
        for one, two in pairwise(divisions)
    )
    variable = any(
        two.kind == "word" and len(two.text) == 1 and two.text != "°" and one.end == two.start and one.kind == "number"
        for one, two in pairwise(tokens)
    )
    glued = any(one.kind == "word" and two.text == "/" and one.end == two.start for one, two in pairwise(tokens))
    return repeated or any(_multiplies_unsaid(tokens, index + 1) for index in divisions) or variable or glued


def _multiplies_unsaid(tokens: Sequence[ArithmeticToken], start: int) -> bool:
    """Whether a parenthesis at a place multiplies another one unsaid: 6 / (2)(3) is read both ways."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += {"open": 1, "close": -1}.get(tokens[index].kind, 0)
        if depth <= 0:
            following = tokens[index + 1].kind if index + 1 < len(tokens) else "other"
            return tokens[index].kind == "close" and following == "open" and depth == 0
    return False


def _singular(word: str) -> str:
    base = word.rstrip(".²³").split("^", maxsplit=1)[0]
    return base[:-1] if base.endswith("s") and base[:-1] in MEASURES else base
