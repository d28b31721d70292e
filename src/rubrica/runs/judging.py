"""Opening the models that judge, where any are named."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rubrica.extras import requires

from .request import JudgeSettings

if TYPE_CHECKING:
    from .cluster.session import ClusterSession
    from .jury_session import JurySession


def open_jury(
    judging: JudgeSettings, note: Callable[[str], None], *, warm: bool = False
) -> AbstractContextManager[JurySession]:
    """The named models, ready to judge. `warm` asks at the temperature of repeats in any case."""
    with requires("judges", "--judge"):
        from .jury_session import jury_session  # here, since judging by code alone needs no HTTP client and no prices
    return jury_session(judging, note, warm=warm)


def open_cluster(
    address: str, judging: JudgeSettings, note: Callable[[str], None], *, warm: bool = False
) -> AbstractContextManager[ClusterSession]:
    """The named models, asked by every node of a Ray cluster."""
    with requires("cluster", f"--cluster {address}"):
        from .cluster.session import cluster_session
    return cluster_session(address, judging, note, warm=warm)
