"""Every error Rubrica raises on purpose, and the Problem that explains one fault in a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with a document: what, where, and the way out.

    >>> print(Problem("weights sum to 0.9", path=("dimensions",), line=4, file="r.yaml", fix="make them sum to 1"))
    r.yaml:4: dimensions: weights sum to 0.9 (make them sum to 1)
    """

    message: str
    path: tuple[str | int, ...] = ()
    line: int | None = None  # 1-based
    file: str | None = None
    fix: str = ""

    @property
    def where(self) -> str:
        """The path in the document, as an author would write it: ``gates[0].when``."""
        text = ""
        for step in self.path:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text

    def under(self, *prefix: str | int) -> Problem:
        """The same problem, seen from a document that contains this one at ``prefix``."""
        return replace(self, path=(*prefix, *self.path))

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        parts = [part for part in (place, self.where, self.message) if part]
        return ": ".join(parts) + (f" ({self.fix})" if self.fix else "")


class RubricaError(Exception):
    """The root of every error that Rubrica raises on purpose."""


class RubricError(RubricaError):
    """A rubric document cannot be used; `problems` lists everything wrong with it, not just the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class JsonError(RubricaError, ValueError):
    """A text is not JSON, or is nested too deeply."""


class FormulaError(RubricaError):
    """A formula cannot be read; carries where in its text, and the way out."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1, fix: str = "") -> None:
        self.message, self.line, self.column, self.fix = message, line, column, fix
        super().__init__(f"line {line}, column {column}: {message}" + (f" ({fix})" if fix else ""))


class FormulaFault(RubricaError):  # noqa: N818 - the formula is fine; its value is not
    """A formula that reads well has no value here: a missing name, a division by zero, a result that is not finite."""


class PatternError(RubricaError):
    """A pattern cannot be used in linear time, or at all; says which construct and the way out."""


class ContextError(RubricaError):
    """What was given to judge is not usable: a wrong type, an unknown dimension, a score off its scale."""


class StoredError(RubricaError):
    """A stored evaluation or case cannot be read back."""


class StoreError(RubricaError):
    """The database cannot be used now: not reachable, full, or locked for too long. Nothing was half-written."""


class MissingError(RubricaError):
    """There is no such thing, or not for whoever asks."""


class DeniedError(RubricaError):
    """Whoever asks may see it, but may not do this; says who may."""


class ConflictError(RubricaError):
    """What is asked clashes with what is there: a name that is taken, a version that is kept."""


class StaleError(ConflictError):
    """Somebody else changed it since it was read; read it again and apply the change to that."""


class BusyError(RubricaError):
    """Too much is being worked on now, for whoever asks (`own`) or for everybody, or what is needed cannot be reached;
    it may be tried again later."""

    def __init__(self, message: str, *, own: bool) -> None:
        super().__init__(message)
        self.own = own


class InputError(RubricaError):
    """A request cannot be used as it is; says what is wrong and the way out."""


class SpendingLimitError(RubricaError):
    """What is asked for costs more than may be spent. `retry_after` is in seconds; None: waiting does not help."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class RateLimitError(RubricaError):
    """More requests or tokens than a minute has room for. `retry_after` is in seconds; None: waiting does not help."""

    def __init__(
        self, message: str, kind: Literal["requests", "tokens"], limit: int, retry_after: float | None = None
    ) -> None:
        self.kind, self.limit, self.retry_after = kind, limit, retry_after
        super().__init__(message)
