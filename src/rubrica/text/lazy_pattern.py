"""Patterns of `re` that are compiled when they are first used: there are hundreds, and compiling them all took longer
than anything else when the package was loaded, while few texts need more than some."""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """Stands for a pattern: what is asked of it is taken from the compiled one, and kept as its own."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags
        self._compiled: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """
    >>> digits = lazy_pattern(r"[0-9]+")
    >>> digits.findall("1 or 22"), digits.sub("n", "3 of 4"), digits.pattern
    (['1', '22'], 'n of n', '[0-9]+')
    """
    return cast("re.Pattern[str]", _LazyPattern(source, flags))
