"""Opening the models that judge, where any are named."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rubrica.errors import RubricaError

from .request import JudgeSettings

if TYPE_CHECKING:
    from .jury_session import JurySession


def open_jury(
    judging: JudgeSettings, note: Callable[[str], None], *, warm: bool = False
) -> AbstractContextManager[JurySession]:
    """The named models, ready to judge. `warm` asks at the temperature of repeats in any case."""
    try:
        from .jury_session import jury_session  # here, since judging by code alone needs no HTTP client and no prices
    except ModuleNotFoundError as error:
        raise RubricaError(f"--judge: {error.name} is missing (pip install 'rubrica[judges]')") from error
    return jury_session(judging, note, warm=warm)
