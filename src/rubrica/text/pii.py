"""Personal data in a text: found by form and by check digit, so that plain numbers are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from math import inf
from typing import Literal, get_args

import msgspec
import re2

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.texts import Feature, Span, Texts
from rubrica.text.windows import LONG, WindowedFindings, unscreened, windows_of

Kind = Literal["iban", "card", "ssn", "email", "ip", "phone"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # most certain first: where two overlap, the earlier kind wins

_MANY_DIGITS = frozenset({"card", "ssn", "phone"})  # kinds that have at least
_FEWEST_DIGITS = 7  # of the ten digits: most texts have fewer, which is seen in a hundredth of the time
_NO_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
EVIDENCE_LIMIT = 20  # spans kept as evidence; the count is never cut
WINDOW, MARGIN = 1_000, 200  # characters of a long text that are screened at once, and of what stands around them
CLOSE_LOOKS = 30  # windows of a long text that are looked at closely: under 50 ms


class PiiSpan(msgspec.Struct, frozen=True):
    """One piece of personal data: ``text[start:end]``, in characters."""

    kind: Kind
    start: int
    end: int
    text: str


def find_pii(text: str) -> tuple[PiiSpan, ...]:
    """Every piece of personal data in the text, in order, none overlapping another.

    >>> [(found.kind, found.text) for found in find_pii("Write to ann@example.org or call +44 20 7946 0958.")]
    [('email', 'ann@example.org'), ('phone', '+44 20 7946 0958')]
    >>> find_pii("In 2019 we shipped 4111111111111112 parts of version 1.2.3.4.")
    ()
    """
    few_digits = len(text.encode(errors="replace").translate(None, _NO_DIGITS)) < _FEWEST_DIGITS
    taken = bytearray(len(text))
    found: list[PiiSpan] = []
    for kind in KINDS:
        if few_digits and kind in _MANY_DIGITS:
            continue
        for start, end in _FINDERS[kind](text):
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\x01" * (end - start)
                found.append(PiiSpan(kind, start, end, text[start:end]))
    return tuple(sorted(found, key=lambda item: item.start))


def search_pii(text: str) -> WindowedFindings[PiiSpan]:
    """`find_pii` in a text of any length: of a long one, where a screen says that there may be something.

    >>> long = "Nothing here. " * 10_000 + "Write to ann@example.org."
    >>> [(item.text, item.start) for item in search_pii(long).found], search_pii(long).unread
    ([('ann@example.org', 140009)], 0)
    """
    if len(text) <= LONG:
        return WindowedFindings(find_pii(text))
    found: list[PiiSpan] = []
    looks, unread = 0, unscreened(text)
    for window in windows_of(text, WINDOW, MARGIN):
        around = text[window.low : window.high]
        if _SCREEN.search(around.encode(errors="replace")) is None:
            continue
        looks += 1
        if looks > CLOSE_LOOKS:
            unread += window.end - window.start
            continue
        found += [
            PiiSpan(item.kind, item.start + window.low, item.end + window.low, item.text)
            for item in find_pii(around)
            if window.owns(item.start)
        ]
    return WindowedFindings(tuple(sorted(found, key=lambda item: item.start)), unread)


def mask(text: str) -> str:
    """The text with every piece of personal data replaced by its kind.

    >>> mask("My SSN is 123-45-6789.")
    'My SSN is [SSN].'
    """
    parts, after = [], 0
    for item in find_pii(text):
        parts += [text[after : item.start], f"[{item.kind.upper()}]"]
        after = item.end
    return "".join(parts) + text[after:]


def mask_value(value: str) -> str:
    """A value that can be stored as evidence: all but its last two to four characters are starred.

    >>> mask_value("123-45-6789"), mask_value("467 3395")
    ('***-**-6789', '*** **95')
    """
    kept = 4 if len(value) > 8 else 2
    return re.sub(r"\w", "*", value[:-kept]) + value[-kept:]


# --- cards ------------------------------------------------------------------------------------------------

_CARD = lazy_pattern(r"(?<![\w.+-])\d(?:[ -]?\d){11,18}(?![\w]|[.-]\d)", re.ASCII)

# Issuer ranges as (first, last) of the leading digits, and the lengths that issuer uses.
_ISSUERS: tuple[tuple[str, str, frozenset[int]], ...] = (
    ("4", "4", frozenset({13, 16, 19})),
    ("51", "55", frozenset({16})),
    ("2221", "2720", frozenset({16})),
    ("34", "34", frozenset({15})),
    ("37", "37", frozenset({15})),
    ("6011", "6011", frozenset({16, 19})),
    ("644", "659", frozenset({16, 19})),
    ("62", "62", frozenset({16, 17, 18, 19})),
    ("81", "81", frozenset({16, 17, 18, 19})),
    ("300", "305", frozenset({14, 16, 19})),
    ("36", "36", frozenset({14, 16, 19})),
    ("38", "39", frozenset({14, 16, 19})),
    ("3528", "3589", frozenset({16, 17, 18, 19})),
    ("1800", "1800", frozenset({15})),
    ("2131", "2131", frozenset({15})),
    ("2200", "2204", frozenset({16})),
    *(
        (lead, lead, frozenset(range(12, 20)))
        for lead in ("5018", "5020", "5038", "5893", "6304", "6759", "6761", "6762", "6763")
    ),
)


_CARD_BEFORE = lazy_pattern(
    r"\b(?:card|credit|debit|visa|master ?card|amex|maestro|discover|cc)\b\W{0,3}"
    r"(?:number|no\.?|nr\.?)?\W{0,3}(?:is\b)?\W{0,3}$",
    re.IGNORECASE,
)


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"[ -]", "", match[0])
        # a number that is called a card needs no issuer that we know: ranges change, the check digit does not
        called = _CARD_BEFORE.search(text[max(0, match.start() - 32) : match.start()])
        if _passes_luhn(digits) and (called or _has_issuer(digits)):
            yield match.span()


def _has_issuer(digits: str) -> bool:
    return any(first <= digits[: len(first)] <= last and len(digits) in lengths for first, last, lengths in _ISSUERS)


def _passes_luhn(digits: str) -> bool:
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    total = sum(map(int, digits[-1::-2])) + sum(value - 9 if value > 9 else value for value in doubled)
    return total % 10 == 0 and len(set(digits)) > 1


# --- social security numbers ------------------------------------------------------------------------------

_SSN = lazy_pattern(
    r"(?<![\w.-])(?P<area>\d{3})(?P<sep>[- ])(?P<group>\d{2})(?P=sep)(?P<serial>\d{4})(?![\w]|[.-]\d)",
    re.ASCII,
)
_LABELLED_SSN = lazy_pattern(
    r"\b(?:ssn|social\s{1,3}security(?:\s{1,3}(?:number|no\.?|num|#))?)\W{0,3}(?:(?:is|was|of|are)\s)?\W{0,3}"
    r"(?P<value>(?P<area>\d{3})[-. ]?(?P<group>\d{2})[-. ]?(?P<serial>\d{4}))(?!\w)",
    re.IGNORECASE | re.ASCII,
)


def _ssns(text: str) -> Iterator[tuple[int, int]]:
    yield from (match.span() for match in _SSN.finditer(text) if _is_issued(match))
    yield from (match.span("value") for match in _LABELLED_SSN.finditer(text) if _is_issued(match))


def _is_issued(match: re.Match[str]) -> bool:
    area = match["area"]
    return area not in {"000", "666"} and area[0] != "9" and match["group"] != "00" and match["serial"] != "0000"


# --- e-mail -----------------------------------------------------------------------------------------------

_EMAIL = lazy_pattern(
    r"(?<![\w.%+-])[\w%+-](?:[\w.%+-]{0,62}[\w%+-])?@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w@])"
)


def _emails(text: str) -> Iterator[tuple[int, int]]:
    if "@" in text:
        yield from (match.span() for match in _EMAIL.finditer(text))


# --- bank accounts ----------------------------------------------------------------------------------------

_IBAN = lazy_pattern(r"(?<![^\W_])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}", re.IGNORECASE | re.ASCII)
_IBAN_LENGTHS = {
    country: int(length)
    for length, countries in {
        "15": "NO", "16": "BE", "18": "DK FO FI GL NL SD", "19": "MK SI", "20": "AT BA EE KZ LT LU MN XK",
        "21": "HR LV LI CH", "22": "BG BH CR DE GB GE IE ME RS VA", "23": "AE GI IL IQ OM SO TL",
        "24": "AD CZ ES MD PK RO SA SE SK TN VG", "25": "LY PT ST", "26": "IS TR",
        "27": "BI DJ FR GR IT MC MR SM",
        "28": "AL AZ BY CY DO GT HU LB NI PL SV", "29": "BR EG PS QA UA", "30": "JO KW MU YE", "31": "MT SC",
        "32": "LC", "33": "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    for match in _IBAN.finditer(text):
        length = _IBAN_LENGTHS.get(match[0][:2].upper(), 0)
        places = [place for place, char in enumerate(match[0]) if char not in " -"][:length]
        if not length or len(places) < length:
            continue
        end = match.start() + places[-1] + 1
        value = "".join(match[0][place] for place in places).upper()
        if not text[end : end + 1].isalnum() and _passes_mod_97(value):
            yield match.start(), end


def _passes_mod_97(value: str) -> bool:
    return int("".join(str(int(char, 36)) for char in value[4:] + value[:4])) % 97 == 1


# --- network addresses ------------------------------------------------------------------------------------

_IPV4 = lazy_pattern(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)", re.ASCII)
_IPV6 = lazy_pattern(r"(?<![\w:.])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:]|\.\d)", re.IGNORECASE | re.ASCII)
_VERSION_BEFORE = lazy_pattern(r"(?:\bv|\bver|\bversion|\brelease|\bbuild|\bsection|§)\W{0,4}$", re.IGNORECASE)
_IP_BEFORE = lazy_pattern(r"\b(?:ip|ipv4|host|server|address)\b\W{0,3}(?:address|is|at)?\W{0,3}$", re.IGNORECASE)


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    for match in _IPV4.finditer(text) if text.count(".") > 2 else ():
        before = text[max(0, match.start() - 24) : match.start()]
        # 1.2.3.4 is far more often a version or a section than a person's address, unless it is called one
        numbering = all(len(octet) == 1 for octet in match[0].split(".")) and not _IP_BEFORE.search(before)
        if not numbering and not _VERSION_BEFORE.search(before) and _is_a_hosts(IPv4Address, match[0]):
            yield match.span()
    if "::" in text or text.count(":") > 6:
        for match in _IPV6.finditer(text):
            if any(char.isdigit() for char in match[0]) and _is_a_hosts(IPv6Address, match[0]):
                yield match.span()


def _is_a_hosts(kind: type[IPv4Address] | type[IPv6Address], value: str) -> bool:
    try:
        address = kind(value)
    except AddressValueError:
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or value.startswith("255."))


# --- telephones -------------------------------------------------------------------------------------------

_EXTENSION = r"(?:\s?(?:x|ext\.?|extension)\s?\d{1,6})?"
_FREE = r"(?<![\w+./=#$€£-])"  # no longer number, sum of money or code runs into it from the left
_OVER = r"(?!\w|[-.,/]\d|%)"  # … nor to the right
_PHONES = tuple(
    lazy_pattern(rf"(?<![\w+./=#$€£-])(?<!\d,)(?:{form}){_EXTENSION}(?!\w|[-.,/]\d|%)", re.ASCII | re.IGNORECASE)
    for form in (
        r"(?:\+|00)[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,12}",  # +46 (0)8 928 571 38
        r"(?:1[ .-])?(?:\([2-9]\d\d\)[ .-]?|[2-9]\d\d[ .-])\d{3}[ .-]\d{4}",  # (602) 555-0148
        r"\(0\d{1,4}\)[ .-]?\d{2,4}(?:[ .-]?\d{2,4}){1,3}",  # (08) 8747 6301
        r"(?<!\d )0[1-9]\d{0,3}(?P<sep>[ .-])\d{2,4}(?:(?P=sep)\d{2,4}){1,3}",  # 0490 75 40 81
        r"0[1-9]\d{2,3}[ -]\d{6,7}",  # 0393 1144137
        r"\(\d{2,3}\) ?\d{3,4}-\d{3,4}",  # (71) 4233-6306
    )
)
_LOOSE = r"\(?\d(?:[ .()/-]{0,2}\d){6,13}"
_CALLED = lazy_pattern(  # a word that says a telephone number follows: then a weaker form will do
    r"(?:\b(?:tele)?phone|\btel|\bmobile|\bcell|\bdesk|\bfax|\bwhatsapp|\bhotline|"
    r"\b(?:call|ring|dial|phone|text|sms|reach|contact|answering|messages)\b(?: (?:me|us|him|her|them|it))?)"
    r"(?:\s?(?:number|no\.?|nr\.?|#))?\s{0,2}(?:(?:is|at|on|to|via)\b|[:.=\\]{1,2})?\s{0,3}"
    rf"(?P<value>{_LOOSE}{_EXTENSION}){_OVER}",
    re.IGNORECASE | re.ASCII,
)
_CALLED_AFTER = lazy_pattern(
    rf"{_FREE}(?<!\d[, ])(?P<value>{_LOOSE}{_EXTENSION})(?= ?[-(]? ?(?:office|fax|mobile|cell|tel)\b(?! \w))",
    re.IGNORECASE | re.ASCII,
)
_DATE = lazy_pattern(
    r"(?:19|20)\d\d[-. /](?:0?[1-9]|1[0-2])[-. /](?:[12]\d|3[01]|0?[1-9])|"
    r"(?:[12]\d|3[01]|0?[1-9])[-. /](?:[12]\d|3[01]|0?[1-9])[-. /](?:19|20)\d\d"
)


def _phones(text: str) -> Iterator[tuple[int, int]]:
    spans = [match.span() for form in _PHONES for match in form.finditer(text) if _can_ring(match[0])]
    for labelled in (_CALLED, _CALLED_AFTER):
        spans += [match.span("value") for match in labelled.finditer(text) if _can_ring(match["value"], _FEWEST_DIGITS)]
    yield from sorted(spans, key=lambda span: span[0] - span[1])  # longest first: it holds the shorter readings


def _can_ring(value: str, least: int = 8) -> bool:
    digits = sum(char.isdigit() for char in re.split(r"[xe]", value, maxsplit=1, flags=re.IGNORECASE)[0])
    return least <= digits <= 15 and not _DATE.search(value)


_FINDERS: dict[Kind, Callable[[str], Iterator[tuple[int, int]]]] = {
    "iban": _ibans,
    "card": _cards,
    "ssn": _ssns,
    "email": _emails,
    "ip": _addresses,
    "phone": _phones,
}

# Something of which every kind has a part: a sign in an e-mail address, digits that stand close, two colons.
_SCREEN = re2.compile(
    rb"@|[0-9](?:[ .()/-]{0,2}[0-9]){6}|[A-Za-z]{2}[0-9]{2}[ -]?[A-Za-z0-9]|(?:[0-9]{1,3}\.){3}[0-9]|::"
    rb"|(?:[0-9A-Fa-f]{1,4}:){7}"
)

# --- features ---------------------------------------------------------------------------------------------


def pii_of(texts: Texts) -> WindowedFindings[PiiSpan]:
    """What `search_pii` finds in the response, found once."""
    if pii_of not in texts.derived:
        texts.derived[pii_of] = search_pii(texts.whole_response)
    found: WindowedFindings[PiiSpan] = texts.derived[pii_of]  # type: ignore[assignment]
    return found


def _count(texts: Texts, kinds: Sequence[Kind]) -> float:
    return float(sum(item.kind in kinds for item in pii_of(texts).found))


def _evidence(texts: Texts, kinds: Sequence[Kind]) -> list[Span]:
    return [
        Span("response", item.start, item.end, mask_value(item.text)[-200:], item.kind)
        for item in pii_of(texts).found
        if item.kind in kinds
    ][:EVIDENCE_LIMIT]


def _feature(name: str, says: str, *kinds: Kind) -> Feature:
    compute, evidence = partial(_count, kinds=kinds), partial(_evidence, kinds=kinds)
    return Feature(name, says, 0, inf, compute, evidence, lambda texts: pii_of(texts).unread)


FEATURES: tuple[Feature, ...] = (
    _feature("pii_count", "pieces of personal data in the response, of all kinds", *KINDS),
    _feature("pii_ssn", "US social security numbers in the response", "ssn"),
    _feature("pii_card", "payment card numbers in the response (issuer and Luhn digit checked)", "card"),
    _feature("pii_email", "e-mail addresses in the response", "email"),
    _feature("pii_phone", "telephone numbers in the response", "phone"),
    _feature("pii_iban", "bank account numbers (IBAN, check digits right) in the response", "iban"),
    _feature("pii_ip", "network addresses (IPv4, IPv6) in the response", "ip"),
)
