"""A rubric's document as YAML text, and back as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from rubrica.engine.document import Document, read_document
from rubrica.errors import Problem, RubricError

from .plain_data import read_plain


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes no aliases: a reader should see every value where it counts."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def to_text(document: Mapping[str, Any]) -> str:
    """The document as YAML, keys in their order."""
    plain = msgspec.to_builtins(document)
    return str(yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))


def from_text(text: str) -> tuple[dict[str, Any], Document]:
    """The document a text says and where each piece stands; a RubricError says what keeps it from being one."""
    document = read_document(text)
    if not isinstance(document.data, dict):
        raise RubricError([Problem("a rubric is keys with values", line=1)])
    plain, problems = read_plain(document.data)
    if problems:
        raise RubricError([document.place(problem) for problem in problems])
    return plain, document
