"""Evaluations that several reward functions share: each rollout is judged once, whoever asks first."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from rubrica.lru_cache import LruCache
from rubrica.model.evaluation import Evaluation

from .rollout import Rollout
from .rollout_judge import FEW, Evaluations, RolloutJudge, awaited, contexts_of

MOST_KEPT = 20_000
"""Evaluations that are kept, those that were used last."""


class SharedEvaluations:
    """Evaluations by what was judged, those under way among them."""

    def __init__(self, judge: RolloutJudge, most: int = MOST_KEPT) -> None:
        self._judge = judge
        self._kept = LruCache[str, tuple[Evaluations, int]](most)
        self._lock = threading.Lock()

    def judge(self, rollouts: Sequence[Rollout]) -> list[Evaluation]:
        """An evaluation of each rollout."""
        return [under_way.result()[place] for under_way, place in self._find(rollouts)]

    async def ajudge(self, rollouts: Sequence[Rollout]) -> list[Evaluation]:
        """The same without blocking the event loop."""
        found = self._find(rollouts) if len(rollouts) <= FEW else await asyncio.to_thread(self._find, rollouts)
        return [(await awaited(under_way))[place] for under_way, place in found]

    def _find(self, rollouts: Sequence[Rollout]) -> list[tuple[Evaluations, int]]:
        """For each rollout, what will hold its evaluation and at which place. A failure is not kept."""
        contexts = contexts_of(rollouts)
        keys = [context.model_dump_json(exclude_defaults=True, fallback=repr) for context in contexts]
        with self._lock:
            known = {key: found for key in keys if (found := self._kept.get(key)) is not None}
            new = {key: context for key, context in zip(keys, contexts, strict=True) if key not in known}
            if new:
                begun = self._judge.submit(list(new.values()))
                known |= {key: (begun, place) for place, key in enumerate(new)}
                for key in new:
                    self._kept.put(key, known[key])
                begun.add_done_callback(lambda done: self._forget(list(new), done))
        return [known[key] for key in keys]

    def _forget(self, keys: Sequence[str], done: Evaluations) -> None:
        if done.cancelled() or done.exception() is not None:
            for key in keys:
                self._kept.drop(key)
