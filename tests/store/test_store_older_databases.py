"""What an older Rubrica wrote is there after the upgrade, under the names of today."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, inspect

from databases import Opened
from games_table import Table, plan_of
from older_databases import make_older
from rubrica.errors import ConflictError
from rubrica.games import attachments, execution, leaderboard_access, rounds
from rubrica.games.attachments import AttachmentRequest
from rubrica.model.context import Context
from rubrica.store.listings import MarketFilters
from rubrica.store.rubrics import RubricQuery
from rubrica.store.scores import ScoreQuery
from rubrica.store.tables import metadata
from rubrica.store.upgrade import VERSION_TABLE, upgrade
from rubrica.workspace import catalogue, marketplace, score_records, scores
from rubrica.workspace.draft import read_draft
from rubrica.workspace.entry import ANYTHING

NORM, SPEED = "norm-macdonald-classic", "speed-demon"
BRIEF = {
    "name": "Brief",
    "scoring_type": "binary",
    "tags": ["short"],
    "rules": [{"type": "custom_expression", "expression": "1 if word_count < 9 else 0"}],
}
RENAMED = ("evaluations", "evaluation_versions", "evaluation_templates", "evaluation_reviews", "game_evaluations")


@pytest.fixture
def table(database: Opened) -> Table:
    """Rubrics with versions, forks, ratings and a deleted one; a game with rounds; a score outside any game."""
    found = Table(database)
    ann, pat = found.person("ann", "author"), found.person("pat", "author")
    found.bundled(ann)
    found.rubric(pat, BRIEF)
    again = read_draft({**BRIEF, "rules": [{"type": "custom_expression", "expression": "1"}], "note": "easier"})
    database.write(catalogue.update, pat, "brief", again, ANYTHING, found.now)
    found.rubric(pat, {**BRIEF, "name": "Gone"})
    database.write(catalogue.delete, pat, "gone", ANYTHING, found.now)
    database.write(marketplace.import_copy, pat, NORM, None, found.now)
    database.write(marketplace.rate, pat, SPEED, 4, "quick", found.now)
    game = found.game(ann)
    found.attach(ann, game, AttachmentRequest(NORM, 0.5), AttachmentRequest(SPEED, 0.5))
    found.say(pat, game, "In 1974 my doctor had a moth.")
    found.replace(ann, game, AttachmentRequest(SPEED))
    found.say(pat, game, "Two moths.", metadata={"response_time": 3})
    _execute(found)
    return found


def _execute(table: Table) -> UUID:
    pat = table.people["pat"]
    target, version = table.database.read(execution.open_target, pat, "brief")
    context = Context.of({"response": "A moth."})
    evaluation = asyncio.run(score_records.judge(plan_of(version.definition, version.hash), context))
    made = execution.execution_of(target, context, execution.NOWHERE, evaluation, pat.user_id, table.now)
    return table.database.write(execution.keep_execution, pat, target, made).id


def told(conn: Connection, table: Table) -> dict[str, Any]:
    """All that the application says of rubrics, the marketplace, games and scores."""
    pat = table.people["pat"]
    listings = catalogue.browse(conn, pat, RubricQuery(), 100)
    offers = marketplace.browse(conn, MarketFilters(), "rating", 100)
    found = scores.list_scores(conn, pat, ScoreQuery(), None, 100)
    games = {score.game_id for score in found if score.game_id is not None}
    return {
        "rubrics": [catalogue.entry(conn, pat, str(listing.id)) for listing in listings],
        "tagged": catalogue.browse(conn, pat, RubricQuery(tags=("short",)), 100),
        "versions": {each.slug: catalogue.history(conn, pat, str(each.id), None, 100) for each in listings},
        "lineage": [catalogue.lineage(conn, pat, str(listing.id)) for listing in listings],
        "market": offers,
        "reviews": [marketplace.reviews(conn, pat, str(offer.listing.id), 100) for offer in offers.offers],
        "scores": [scores.view_score(conn, pat, score.id) for score in found],
        "attached": [attachments.attached(conn, pat, game) for game in games],
        "rounds": [rounds.view_round(conn, pat, game, "pat", number) for game in games for number in (1, 2)],
        "boards": [leaderboard_access.of_game(conn, pat, game, "composite", None) for game in games],
    }


def test_what_was_written_before_rubrics_had_their_names_is_read_after_the_upgrade(table: Table) -> None:
    database = table.database
    before = database.read(told, table)
    counted = database.write(make_older, "0004")
    assert all(counted[name] for name in (*RENAMED, "evaluation_scores")), counted
    assert asyncio.run(upgrade(database.url)).pending == (
        "0005",
        "0006",
        "0007",
        "0008",
        "0009",
        "0010",
        "0011",
        "0012",
        "0013",
    )
    assert database.read(told, table) == before
    names = database.read(lambda conn: set(inspect(conn).get_table_names()))
    assert names == {*metadata.tables, VERSION_TABLE}


def test_what_the_tables_refuse_is_refused_after_the_upgrade(table: Table) -> None:
    database, pat = table.database, table.people["pat"]
    database.write(make_older, "0004")
    asyncio.run(upgrade(database.url))
    with pytest.raises(ConflictError, match="there already is a rubric named"):
        table.rubric(pat, BRIEF)
    table.rubric(pat, {**BRIEF, "name": "Gone"})  # its name was free again
    assert database.write(marketplace.rate, pat, SPEED, 2, "", table.now).reviews == 1  # in place of the first
    assert database.read(scores.view_score, pat, _execute(table)).rubric == "brief"


def test_no_name_of_before_is_left_by_the_upgrade(table: Table) -> None:
    table.database.write(make_older, "0004")
    asyncio.run(upgrade(table.database.url))
    said = table.database.read(names)
    assert {"rubric_id", "ix_evaluation_scores_rubric", "uq_rubric_versions_rubric_id_version"} <= said
    assert [name for name in said if "evaluation" in name.replace("evaluation_scores", "")] == ["evaluation"]  # reviews


def names(conn: Connection) -> set[str]:
    """The names in a database, of whatever kind."""
    if conn.dialect.name == "sqlite":
        assert conn.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        text = conn.exec_driver_sql("SELECT group_concat(sql, ' ') FROM sqlite_master").scalar_one()
        return set(re.findall(r"\w+", text))
    found = conn.exec_driver_sql(
        "SELECT relname FROM pg_class UNION SELECT conname FROM pg_constraint WHERE contype <> 'n' UNION "
        "SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid WHERE relkind = 'r'"
    )
    return set(found.scalars())
