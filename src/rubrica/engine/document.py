"""Reads YAML or JSON text into plain data, remembering the line of every key and item."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from rubrica.errors import Problem, RubricError

Path = tuple[str | int, ...]

LONGEST_DOCUMENT = 2_000_000
"""Characters."""
MOST_NODES = 100_000
"""Nodes, aliases counted each time: a document that unfolds further is refused."""
DEEPEST = 60
"""Levels of lists and mappings."""
LONGEST_NUMBER = 400
"""Characters of a number, a date or whatever else is not read as text: some of them take quadratic time to convert."""

MOST_DIRECTIVES = 20
"""Lines that begin with %: the parser compares each with all before it."""

_DIRECTIVE = re.compile("[\r\n\x85\u2028\u2029]%")
_TEXT = "tag:yaml.org,2002:str"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Document(msgspec.Struct, frozen=True):
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
    try:
        _check_size(text, file)
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


def check_size(text: str, file: str | None = None) -> None:
    """Refuse a document that is nested too deeply or holds too many values. Text that is not YAML passes: its reader
    says so.

    >>> check_size("- " * 1000)
    Traceback (most recent call last):
        ...
    rubrica.errors.RubricError: 1: [0][0][0]: the document is nested too deeply (at most 60 levels)
    """
    try:
        _check_size(text, file)
    except (yaml.YAMLError, UnicodeEncodeError):
        return


def _check_size(text: str, file: str | None) -> None:
    """Count levels and values in the events of the parser, which does not recurse; whoever composes them does."""
    for number, directive in enumerate(_DIRECTIVE.finditer(text)):
        if number >= MOST_DIRECTIVES:
            line = text.count("\n", 0, directive.end()) + 1
            fix = f"at most {MOST_DIRECTIVES}; no rubric needs one"
            raise RubricError([Problem("too many lines begin with %", line=line, file=file, fix=fix)])
    loader = _Loader(text)
    open_: list[_Level] = []
    values = 0
    try:
        while (event := loader.get_event()) is not None:
            if isinstance(event, yaml.NodeEvent):
                values += 1
                name = open_[-1].enter(event) if open_ else None
                if isinstance(event, yaml.CollectionStartEvent):
                    open_.append(_Level(isinstance(event, yaml.MappingStartEvent), name))
                    if len(open_) > DEEPEST:
                        path = tuple(level.name for level in open_ if level.name is not None)
                        _refuse_size("is nested too deeply", f"at most {DEEPEST} levels", path[:3], event, file)
                if values > 2 * MOST_NODES:  # keys are counted here too
                    _refuse_size("holds too many values", f"at most {MOST_NODES:,}", (), event, file)
            elif isinstance(event, yaml.CollectionEndEvent):
                open_.pop()
    finally:
        loader.dispose()


def _refuse_size(what: str, fix: str, path: Path, event: Any, file: str | None) -> None:
    raise RubricError([Problem(f"the document {what}", path, event.start_mark.line + 1, file, fix)])


class _Level:
    """A list or mapping that is being parsed, and its name in what holds it."""

    __slots__ = ("_key", "_mapping", "_members", "name")

    def __init__(self, mapping: bool, name: str | int | None) -> None:
        self._mapping, self.name = mapping, name
        self._members = 0
        self._key = ""

    def enter(self, event: yaml.NodeEvent) -> str | int | None:
        """The name of the next member; None for a key of a mapping."""
        self._members += 1
        if not self._mapping:
            return self._members - 1
        if self._members % 2 == 0:
            return self._key
        self._key = event.value if isinstance(event, yaml.ScalarEvent) else "?"
        return None


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
        if len(path) > DEEPEST:  # by aliases: what is written so is refused before
            self._refuse("the document is nested too deeply (an alias inside of what it names?)", path[:3], line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        if len(node.value) > LONGEST_NUMBER and node.tag != _TEXT:
            self._refuse(f"{len(node.value):,} characters that are not read as text", path, line)
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
