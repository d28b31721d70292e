"""The text feature ``ellipsis_count``: any formula can read it."""

from __future__ import annotations

import math
import re

from rubrica.text.texts import Feature, Texts

ELLIPSIS = re.compile(r"\.{3,}|\u2026")


def _ellipses(texts: Texts) -> float:
    return float(len(ELLIPSIS.findall(texts.of("response"))))


ELLIPSIS_COUNT = Feature("ellipsis_count", "ellipses in the response", 0.0, math.inf, _ellipses)
