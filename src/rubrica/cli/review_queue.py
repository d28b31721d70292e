"""The review queue of a database, as ``rubrica review`` fills it and reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from rubrica.runs.review.opinions import FilledRecord, Opinion
from rubrica.runs.review.questions import Rubrics
from rubrica.runs.review.queue_items import filled_of, new_items
from rubrica.runs.review.sampling import DrawnEvaluation
from rubrica.runs.stored import StoredRun
from rubrica.store import reviews
from rubrica.store.reviews import NewReviewItem
from rubrica.store.upgrade import upgrade
from rubrica.store.users import find_user
from rubrica.workspace.access import LOCAL
from rubrica.workspace.run_access import RunKey, open_review

from .db import on_database

MADE_BY = "rubrica review sample --database"


EVERYONE = "everyone"
NO_MANIFEST = "-"
"""Stands for the id of a run that is only a file of evaluations; no manifest has it."""


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The queue of the database at a place."""

    place: str

    def add(self, run: StoredRun, drawn: Sequence[DrawnEvaluation], rubrics: Rubrics, reviewers: str | None) -> int:
        """Put a sample in; how many of it were not there yet. A SQLite file is made where there is none."""
        asyncio.run(upgrade(self.place))
        key = RunKey(run.name, run.manifest.id if run.manifest is not None else NO_MANIFEST)
        return on_database(
            self.place, MADE_BY, _add_sample, key, new_items(drawn, rubrics), reviewers, datetime.now(UTC)
        )

    def opinions(self, run: str) -> list[FilledRecord]:
        """What people gave the items of a run."""
        return filled_of(on_database(self.place, MADE_BY, reviews.opinions, run))

    def keep(self, run: str, given: Sequence[Opinion]) -> int:
        """Keep opinions that were read from files, of items that are in the queue; how many that were."""
        return on_database(self.place, MADE_BY, _keep_opinions, run, given, datetime.now(UTC))


def _add_sample(
    conn: Connection, run: RunKey, items: Sequence[NewReviewItem], reviewers: str | None, now: datetime
) -> int:
    """Whoever can write into the database may do as an admin may."""
    if reviewers is not None:
        names = [] if reviewers == EVERYONE else reviewers.split(",")
        open_review(conn, LOCAL, run, "shared" if reviewers == EVERYONE else "private", names, now)
    return reviews.add_items(conn, run.name, items, now)


def _keep_opinions(conn: Connection, run: str, given: Sequence[Opinion], now: datetime) -> int:
    kept = 0
    for one in given:
        item = reviews.find_item(conn, run, one.item)
        if item is None:
            continue
        user = find_user(conn, one.reviewer)
        opinion = reviews.StoredOpinion(one.item, one.reviewer, one.scores, one.note, user.id if user else None, now)
        reviews.put_opinion(conn, item.id, opinion, now)
        kept += 1
    return kept
