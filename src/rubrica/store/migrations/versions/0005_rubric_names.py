"""Rubrics, and what belongs to them, under their own names. Rows stay where they are."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TABLES = {
    "evaluations": "rubrics",
    "evaluation_versions": "rubric_versions",
    "evaluation_templates": "market_listings",
    "evaluation_reviews": "market_reviews",
    "game_evaluations": "game_rubrics",
}
POINTING = ("rubric_versions", "market_listings", "market_reviews", "game_rubrics", "evaluation_scores")
CONSTRAINTS = {
    "rubrics": {
        "pk_evaluations": "pk_rubrics",
        "ck_evaluations_scoring_type": "ck_rubrics_scoring_type",
        "fk_evaluations_created_by": "fk_rubrics_created_by",
    },
    "rubric_versions": {
        "pk_evaluation_versions": "pk_rubric_versions",
        "fk_evaluation_versions_created_by": "fk_rubric_versions_created_by",
        "fk_evaluation_versions_evaluation_id": "fk_rubric_versions_rubric_id",
        "uq_evaluation_versions_evaluation_id_revision": "uq_rubric_versions_rubric_id_revision",
        "uq_evaluation_versions_evaluation_id_version": "uq_rubric_versions_rubric_id_version",
    },
    "market_listings": {
        "pk_evaluation_templates": "pk_market_listings",
        "fk_evaluation_templates_evaluation_id": "fk_market_listings_rubric_id",
        "uq_evaluation_templates_evaluation_id": "uq_market_listings_rubric_id",
    },
    "market_reviews": {
        "pk_evaluation_reviews": "pk_market_reviews",
        "ck_evaluation_reviews_rating": "ck_market_reviews_rating",
        "fk_evaluation_reviews_evaluation_id": "fk_market_reviews_rubric_id",
        "fk_evaluation_reviews_user_id": "fk_market_reviews_user_id",
        "uq_evaluation_reviews_evaluation_id_user_id": "uq_market_reviews_rubric_id_user_id",
    },
    "game_rubrics": {
        "pk_game_evaluations": "pk_game_rubrics",
        "ck_game_evaluations_weight": "ck_game_rubrics_weight",
        "fk_game_evaluations_evaluation_id": "fk_game_rubrics_rubric_id",
        "fk_game_evaluations_game_session_id": "fk_game_rubrics_game_session_id",
        "fk_game_evaluations_version_id": "fk_game_rubrics_version_id",
    },
    "evaluation_scores": {"fk_evaluation_scores_evaluation_id": "fk_evaluation_scores_rubric_id"},
}
INDEXES = {
    "ix_evaluations_category": ("ix_rubrics_category", "rubrics", "category, id"),
    "ix_evaluations_origin": ("ix_rubrics_origin", "rubrics", "forked_from"),
    "ix_evaluations_own_private": ("ix_rubrics_own_private", "rubrics", "created_by, is_public, id"),
    "ix_evaluations_owner": ("ix_rubrics_owner", "rubrics", "created_by, id"),
    "ix_evaluations_public": ("ix_rubrics_public", "rubrics", "is_public, id"),
    "ix_evaluations_public_slug": ("ix_rubrics_public_slug", "rubrics", "is_public, slug, id"),
    "ix_evaluations_slug": ("ix_rubrics_slug", "rubrics", "slug, id"),
    "ix_evaluation_reviews_newest": ("ix_market_reviews_newest", "market_reviews", "rubric_id, updated_at"),
    "ix_evaluation_templates_downloads": ("ix_market_listings_downloads", "market_listings", "listed, downloads, id"),
    "ix_evaluation_templates_featured": ("ix_market_listings_featured", "market_listings", "listed, featured, id"),
    "ix_evaluation_templates_newest": ("ix_market_listings_newest", "market_listings", "listed, id"),
    "ix_evaluation_templates_rating": ("ix_market_listings_rating", "market_listings", "listed, rating, reviews, id"),
    "ix_evaluation_templates_trend": ("ix_market_listings_trend", "market_listings", "listed, trend, id"),
    "ix_game_evaluations_game": ("ix_game_rubrics_game", "game_rubrics", "game_session_id"),
    "ix_evaluation_scores_evaluation": ("ix_evaluation_scores_rubric", "evaluation_scores", "rubric_id, id"),
}
SCHEMA = sa.table("sqlite_master", sa.column("name"), sa.column("sql"))
UNIQUE = {
    "uq_evaluations_bundled_slug": (
        "uq_rubrics_bundled_slug",
        "rubrics",
        "slug",
        "created_by IS NULL AND deleted_at IS NULL",
    ),
    "uq_evaluations_owner_slug": ("uq_rubrics_owner_slug", "rubrics", "created_by, slug", "deleted_at IS NULL"),
}


def upgrade() -> None:
    for old, new in TABLES.items():
        op.rename_table(old, new)
    for table in POINTING:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN evaluation_id TO rubric_id")
    if op.get_bind().dialect.name == "postgresql":
        _rename_on_postgresql()
    else:
        _rename_on_sqlite()


def _rename_on_postgresql() -> None:
    for table, names in CONSTRAINTS.items():
        for old, new in names.items():
            op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {new}")
    for old, (new, *_) in (*INDEXES.items(), *UNIQUE.items(), ("ix_evaluations_tags", ("ix_rubrics_tags",))):
        op.execute(f"ALTER INDEX {old} RENAME TO {new}")


def _rename_on_sqlite() -> None:
    """An index is made anew under its name; a constraint is renamed in the text of its table.

    SQLite has no statement for the latter. Copying the tables would take long, and as much room again.
    """
    for old, (new, table, columns) in INDEXES.items():
        op.execute(f"DROP INDEX {old}")
        op.execute(f"CREATE INDEX {new} ON {table} ({columns})")
    for old, (new, table, columns, where) in UNIQUE.items():
        op.execute(f"DROP INDEX {old}")
        op.execute(f"CREATE UNIQUE INDEX {new} ON {table} ({columns}) WHERE {where}")
    _rename_constraints_on_sqlite(op.get_bind())


def _rename_constraints_on_sqlite(conn: sa.Connection) -> None:
    version = conn.exec_driver_sql("PRAGMA schema_version").scalar_one()
    conn.exec_driver_sql("PRAGMA writable_schema = ON")
    try:
        for table, names in CONSTRAINTS.items():
            chosen = SCHEMA.c.name == table
            text = conn.execute(sa.select(SCHEMA.c.sql).where(chosen)).scalar_one()
            for old, new in names.items():
                text = text.replace(f"CONSTRAINT {old} ", f"CONSTRAINT {new} ")
            conn.execute(sa.update(SCHEMA).where(chosen).values(sql=text))
        conn.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")  # whoever has the file open reads it again
    except sa.exc.OperationalError as error:  # a SQLite such as macOS's own lets nobody: they keep their names
        if "may not be modified" not in str(error.orig):
            raise
    finally:
        conn.exec_driver_sql("PRAGMA writable_schema = RESET")
