"""The text feature ``emoji_count``: any formula can read it."""

from __future__ import annotations

import math
import re

from rubrica.text.texts import Feature, Texts

EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]")


def _emojis(texts: Texts) -> float:
    return float(len(EMOJI.findall(texts.of("response"))))


EMOJI_COUNT = Feature("emoji_count", "emojis in the response", 0.0, math.inf, _emojis)
