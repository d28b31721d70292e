"""Keys, tokens and passwords in a text, by the forms that they usually have, so that none is kept by accident.

It errs on the side of masking: a long word that only looks like a key is no loss in a record. What has no form, such as
a password in a sentence, is not found.
"""

from __future__ import annotations

import re

from rubrica.text.lazy_pattern import lazy_pattern

MARK = "[SECRET]"

_BLOCK = lazy_pattern(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)", re.S
)
_REST_OF_BLOCK = lazy_pattern(r"\A[A-Za-z0-9+/=\s\\]*-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
"""A block whose beginning was cut off."""

_TOKENS = lazy_pattern(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe, and our own
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"  # Amazon
    r"|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"  # Slack
    r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}"  # Google
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"  # a JSON web token
    r")"
)
_AFTER_A_NAME = lazy_pattern(
    r"(?P<name>\b(?:bearer|basic)\s{1,3}"
    r"|(?:api[_-]?key|access[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|auth[_-]?token|access[_-]?token"
    r"|password|passwd|passphrase)['\"]?\s{0,3}[:=]\s{0,3}['\"]?)"
    r"(?P<secret>[^\s'\",;<>\[\]]{6,})",
    re.IGNORECASE,
)
_IN_URL = lazy_pattern(
    r"(?P<before>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:)(?P<secret>[^\s/@]{1,200})(?=@)", re.IGNORECASE
)
_WORD = lazy_pattern(r"[A-Za-z]{1,15}[.!?]?")


def mask_credentials(text: str) -> str:
    """The text with every key, token and password replaced by a mark.

    >>> mask_credentials("export OPENAI_API_KEY=sk-proj-abcdefghijklmnop1234, then postgres://ann:hunter2@db/x")
    'export OPENAI_API_KEY=[SECRET], then postgres://ann:[SECRET]@db/x'
    >>> mask_credentials("The bearer of this letter knows the password: the risk-free word is AKIA.")
    'The bearer of this letter knows the password: the risk-free word is AKIA.'
    """
    if "PRIVATE KEY" in text:
        text = _REST_OF_BLOCK.sub(MARK, _BLOCK.sub(MARK, text))
    if "://" in text:
        text = _IN_URL.sub(rf"\g<before>{MARK}", text)
    return _AFTER_A_NAME.sub(_named, _TOKENS.sub(MARK, text))


def _named(match: re.Match[str]) -> str:
    """A name with its secret masked; a plain word after it, as in a sentence, is left alone."""
    return match[0] if _WORD.fullmatch(match["secret"]) and "=" not in match["name"] else match["name"] + MARK
