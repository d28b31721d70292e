"""The response held against the case's `reference` by code, character by character.

A case without a reference has no such number: a formula that reads one says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rubrica.errors import FormulaFault
from rubrica.model.context import Context


def _reference(context: Context) -> str:
    found = context.lookup("reference")
    if isinstance(found, int | float) and not isinstance(found, bool):
        found = str(found)  # an answer such as 42, which a table has as a number
    if not isinstance(found, str) or not found:
        raise FormulaFault("the case has no reference (give it one, or name its column: --map reference=COLUMN)")
    return found


REFERENCE_CHECKS: Mapping[str, tuple[str, Callable[[Context], float]]] = {
    "equals_reference": (
        "1 when the response is the case's `reference`, character by character, else 0",
        lambda context: float(context.response == _reference(context)),
    ),
    "contains_reference": (
        "1 when the case's `reference` stands in the response as it is written, else 0",
        lambda context: float(_reference(context) in context.response),
    ),
    "contains_reference_in_any_case": (
        "1 when the case's `reference` stands in the response, in small letters or capitals, else 0",
        lambda context: float(_reference(context).lower() in context.response.lower()),
    ),
}
"""Numbers from 0 to 1."""
