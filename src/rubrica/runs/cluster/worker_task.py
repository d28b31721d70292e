"""What a worker of a cluster is told before its first case."""

from __future__ import annotations

from typing import NamedTuple

from rubrica.llm.settings import Settings
from rubrica.runs.request import JudgeSettings


class WorkerTask(NamedTuple):
    """What a worker needs to know before its first case. It holds keys: it is sent, and never written."""

    judging: JudgeSettings
    settings: Settings
    jobs: int  # cases under way at once
    warm: bool
    version: str  # of Rubrica
    limits: str  # the name of the actor that all workers share
