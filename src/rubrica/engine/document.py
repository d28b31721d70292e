"""Reads YAML or JSON text into plain data, remembering the line of every key and item."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from rubrica.errors import Problem, RubricError

Path = tuple[str | int, ...]

LONGEST_DOCUMENT = 2_000_000
"""Characters."""
MOST_NODES = 100_000
"""Nodes, aliases counted each time: a document that unfolds further is refused."""
DEEPEST = 60

_BRACKETS = re.compile(r"[\[\]{}]")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data and where each piece of it stands."""

    data: Any
    lines: Mapping[Path, int]  # 1-based
    file: str | None = None

    def line(self, path: Path) -> int | None:
        """The line of a path, or of the nearest thing above it that exists."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None

    def place(self, problem: Problem) -> Problem:
        """The same problem with its file and line filled in."""
        return Problem(problem.message, problem.path, self.line(problem.path), self.file, problem.fix)


def read_document(text: str, file: str | None = None) -> Document:
    """Parse a document; a RubricError says what keeps it from being YAML or JSON, and where.

    >>> read_document("name: x\\nversion: '1.0'").line(("version",))
    2
    """
    if len(text) > LONGEST_DOCUMENT:
        raise RubricError(
            [
                Problem(
                    f"the document has {len(text):,} characters",
                    file=file,
                    fix=f"at most {LONGEST_DOCUMENT:,}",
                )
            ]
        )
    _refuse_deep_brackets(text, file)
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                raise RubricError([Problem("the document is empty", file=file, fix="`rubrica init` writes a starter")])
            builder = _Builder(loader, file)
            return Document(builder.build(root, ()), builder.lines, file)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"not valid YAML or JSON: {error.problem or error.context}"
        raise RubricError([Problem(message, line=mark.line + 1 if mark else None, file=file)]) from None
    except yaml.YAMLError as error:  # a character that no document may hold, with a position but no mark
        raise RubricError([Problem(f"not valid YAML or JSON: {' '.join(str(error).split())}", file=file)]) from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise RubricError([Problem("holds half of a surrogate pair", line=line, file=file, fix="remove it")]) from None
    except RecursionError:
        raise RubricError([Problem("the document is nested too deeply", file=file)]) from None


def _refuse_deep_brackets(text: str, file: str | None) -> None:
    """Nested flow brackets recurse in the parser: count them before it does (those in strings count too)."""
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > DEEPEST * 4:
            line = text.count("\n", 0, bracket.start()) + 1
            raise RubricError([Problem("the document is nested too deeply", line=line, file=file)])


class _Builder:
    """Turns YAML nodes into data, one line number per path."""

    def __init__(self, loader: Any, file: str | None) -> None:
        self._loader = loader
        self._file = file
        self._nodes = 0
        self.lines: dict[Path, int] = {}

    def build(self, node: yaml.Node, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            self._refuse("the document unfolds to too many values (aliases of aliases?)", path, line)
        if len(path) > DEEPEST:
            self._refuse("the document is nested too deeply", path[:3], line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            value = self._loader.construct_object(node)
            if not isinstance(value, dict | list | set):
                return value
        except (LookupError, AttributeError):  # what PyYAML makes of a value that does not fit its tag
            pass
        except (ValueError, OverflowError, yaml.constructor.ConstructorError) as error:
            reason = getattr(error, "problem", None) or str(error)
            self._refuse(f"cannot be read: {reason}", path, line)
        kind = node.tag.rpartition(":")[2]
        return self._refuse(f"cannot be read: {node.value[:60]!r} is not of the type {kind}", path, line)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse("a key must be plain text", path, line)
            key = key_node.value
            if key in result:
                self._refuse(f"the key {key!r} is given twice", (*path, key), line)
            self.lines[(*path, key)] = line
            result[key] = self.build(value_node, (*path, key))
        return result

    def _refuse(self, message: str, path: Path, line: int) -> Any:
        raise RubricError([Problem(message, path, line, self._file)])
