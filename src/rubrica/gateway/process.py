"""What a process keeps when its configuration is read again, and what all workers of one gateway have in common."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from .metrics import Metrics

PUBLISHED = 1.0
"""Seconds between two times that a worker tells the others its figures."""

ENDING = ".prom"


@dataclass(frozen=True, slots=True)
class GatewayProcess:
    """One process of a gateway: the only one, or a worker among others.

    Digests of texts are keyed: workers that shall recognise each other's texts have the same key.
    """

    digest_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    folder: Path | None = None  # where workers tell each other their figures; None: there are no others
    metrics: Metrics = field(default_factory=Metrics)

    def figures(self) -> bytes:
        """The counters of all workers together, for Prometheus. Those of the others are a second old at most."""
        own = self.metrics.text()
        if self.folder is None:
            return own
        mine = f"{os.getpid()}{ENDING}"
        others = [file for file in sorted(self.folder.glob(f"*{ENDING}")) if file.name != mine]
        told = [(file.read_text("utf-8"), _lives(int(file.stem))) for file in others]
        return added([(own.decode(), True), *told]) if told else own

    async def publish(self, figures: Callable[[], bytes]) -> None:
        """Tell the others, again and again, until cancelled."""
        if self.folder is None:
            return
        file = self.folder / f"{os.getpid()}{ENDING}"
        while True:
            fresh = file.with_suffix(".new")
            fresh.write_bytes(figures())
            fresh.replace(file)
            await asyncio.sleep(PUBLISHED)


def added(parts: Iterable[tuple[str, bool]]) -> bytes:
    """Figures of several processes as if they were of one; of those that have ended, counters only.

    >>> one = "# HELP a_total a\\n# TYPE a_total counter\\na_total 1.0\\n# HELP b b\\n# TYPE b gauge\\nb 2.0\\n"
    >>> print(added([(one, True), (one, False)]).decode(), end="")
    # HELP a_total a
    # TYPE a_total counter
    a_total 2.0
    # HELP b b
    # TYPE b gauge
    b 2.0
    """
    families: dict[str, Metric] = {}
    sums: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = defaultdict(lambda: defaultdict(float))
    for text, lives in parts:
        for family in text_string_to_metric_families(text):
            families.setdefault(family.name, family)
            if lives or family.type != "gauge":
                for sample in family.samples:
                    sums[family.name][sample.name, tuple(sample.labels.items())] += sample.value
    return generate_latest(_registry(_Summed(families, sums)))


class _Summed(Collector):
    def __init__(
        self,
        families: dict[str, Metric],
        sums: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]],
    ) -> None:
        self._families, self._sums = families, sums

    def collect(self) -> Iterator[Metric]:
        for name, family in self._families.items():
            found = Metric(name, family.documentation, family.type)
            for (sample, labels), value in self._sums[name].items():
                found.add_sample(sample, dict(labels), value)
            yield found


def _registry(collector: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
