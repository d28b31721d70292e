"""Templates of OpenAI's graders, ``{{ item.name }}`` and ``{{ sample.output_text }}``, as words of a question and back.

A judge of Rubrica is shown the prompt, the response, the reference and the declared context names by itself. So a
template becomes a word in brackets, which says what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from .conversion import Path, Reading, shown

RESPONSE, PROMPT, REFERENCE = "{{sample.output_text}}", "{{item.prompt}}", "{{item.reference}}"
_TEMPLATE = re.compile(r"\{\{\s*([^{}]{1,200}?)\s*\}\}")
_WORDS = {
    "sample.output_text": "[the response]",
    "item.prompt": "[the prompt]",
    "item.reference": "[the reference]",
    "item.reference_answer": "[the reference]",
}
_BACK = {"the response": RESPONSE, "the prompt": PROMPT, "the reference": REFERENCE}
_FIELD = re.compile(r"item\.([A-Za-z][A-Za-z0-9_]{0,63})")
_BRACKETS = re.compile(r"\[([A-Za-z][A-Za-z0-9_ ]{0,63})\]")
_TEXT_PARTS = ("input_text", "output_text", "text")


def placeholder(value: str) -> str:
    """The name of a text that is one template and nothing else; empty for any other text.

    >>> placeholder(" {{ item.label }} "), placeholder("Answer: {{ item.label }}")
    ('item.label', '')
    """
    found = _TEMPLATE.fullmatch(value.strip())
    return "" if found is None else found[1]


def field_of(template: str) -> str:
    """The name of the context that a template reads; empty where it reads something else."""
    found = _FIELD.fullmatch(template)
    return "" if found is None or template in _WORDS else found[1]


def read_messages(found: Any, path: Path, reading: Reading, fields: dict[str, str]) -> str:
    """The question in a grader's messages. The names of the context that it reads are added to `fields`."""
    if isinstance(found, str):
        found = [{"role": "user", "content": found}]
    if not isinstance(found, list) or not found:
        reading.refuse(f"input is a list of messages, not {shown(found)}", path)
        return ""
    asked: list[str] = []
    for at, message in enumerate(found):
        if not isinstance(message, dict):
            reading.refuse(f"a message is an object with role and content, not {shown(message)}", (*path, at))
            continue
        content = _content(message.get("content"), (*path, at, "content"), reading)
        if content and placeholder(content) not in _WORDS:
            asked.append(_with_words(content, (*path, at, "content"), reading, fields))
    if len(asked) > 1:
        reading.lose(f"{len(asked)} messages become one question; their roles are gone", path)
    if not asked and not reading.faults:
        reading.refuse("the messages ask nothing", path)
    return "\n\n".join(asked)


def write_messages(asks: str, fields: Collection[str]) -> list[dict[str, str]]:
    """A question as a grader's messages: what is asked, then what it is asked about."""

    def back(found: re.Match[str]) -> str:
        inner = found[1]
        return _BACK.get(inner) or (f"{{{{item.{inner}}}}}" if inner in fields else found[0])

    return [
        {"role": "developer", "content": _BRACKETS.sub(back, asks)},
        {"role": "user", "content": PROMPT},
        {"role": "user", "content": RESPONSE},
    ]


def _with_words(content: str, path: Path, reading: Reading, fields: dict[str, str]) -> str:
    def words(found: re.Match[str]) -> str:
        template = found[1]
        if template in _WORDS:
            return _WORDS[template]
        if field := field_of(template):
            fields[field] = f"{field} of the item"
            return f"[{field}]"
        reading.lose(f"judges are not shown {template[:60]}", path, "put it into a context name of each case")
        return f"[{template}]"

    return _TEMPLATE.sub(words, content)


def _content(found: Any, path: Path, reading: Reading) -> str:
    if isinstance(found, str):
        return found.strip()
    parts = found if isinstance(found, list) else [found]
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part.strip())
        elif isinstance(part, dict) and part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str):
            texts.append(part["text"].strip())
        else:
            what = part.get("type") if isinstance(part, dict) else shown(part)
            reading.lose(f"only text is carried over, not {str(what)[:60]}", path)
    return "\n\n".join(one for one in texts if one)
