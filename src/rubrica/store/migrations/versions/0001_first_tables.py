"""The first tables, and the local administrator of a server without keys."""

from datetime import UTC, datetime
from uuid import UUID

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON()
WORDS = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "gateway_requests",
        sa.Column("trace", sa.Uuid, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("key_id", sa.Uuid),
        sa.Column("conversation", sa.BigInteger()),
        sa.Column("variant", sa.String(40), nullable=False),
        sa.Column("chosen", sa.String(200), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("stream", sa.Boolean, nullable=False),
        sa.Column("cached", sa.String(10), nullable=False),
        sa.Column("degraded", sa.String(20), nullable=False),
        sa.Column("failed_steps", sa.String(60), nullable=False),
        sa.Column("tier", sa.String(10)),
        sa.Column("model", sa.String(200)),
        sa.Column("question_type", sa.String(64)),
        sa.Column("classified_by", sa.String(20)),
        sa.Column("classification_confidence", sa.Double),
        sa.Column("rubric", sa.String(120)),
        sa.Column("passed", sa.Boolean),
        sa.Column("score", sa.Double),
        sa.Column("threshold", sa.Double),
        sa.Column("gated", sa.Boolean),
        sa.Column("grade_confidence", sa.Double),
        sa.Column("variance", sa.Double),
        sa.Column("dimension_scores", DOCUMENT),
        sa.Column("tier0_usd", sa.Double),
        sa.Column("tier1_usd", sa.Double),
        sa.Column("classification_usd", sa.Double),
        sa.Column("grading_usd", sa.Double),
        sa.Column("total_usd", sa.Double),
        sa.Column("baseline_usd", sa.Double),
        sa.Column("tier0_ms", sa.Double),
        sa.Column("tier1_ms", sa.Double),
        sa.Column("classification_ms", sa.Double),
        sa.Column("grading_ms", sa.Double),
        sa.Column("first_byte_ms", sa.Double),
        sa.Column("total_ms", sa.Double, nullable=False),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("answer_tokens", sa.Integer, nullable=False),
        sa.Column("prompt_digest", sa.LargeBinary(32)),
        sa.Column("answer_digest", sa.LargeBinary(32)),
        sa.Column("shadow_score", sa.Double),
        sa.Column("shadow_difference", sa.Double),
        sa.Column("shadow_better", sa.Boolean),
        sa.Column("shadow_failure", sa.String(20)),
        sa.Column("shadow_usd", sa.Double),
        sa.PrimaryKeyConstraint("trace", name="pk_gateway_requests"),
    )
    op.create_index("ix_gateway_requests_at", "gateway_requests", ["at"])
    op.create_index(
        "ix_gateway_requests_shadow",
        "gateway_requests",
        ["at"],
        sqlite_where=sa.text("shadow_failure IS NOT NULL"),
        postgresql_where=sa.text("shadow_failure IS NOT NULL"),
    )

    op.create_table(
        "replies",
        sa.Column("user_id", sa.Uuid, nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("request", sa.LargeBinary(32), nullable=False),
        sa.Column("holder", sa.Uuid, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("headers", DOCUMENT, nullable=False),
        sa.Column("body", sa.LargeBinary),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "key", name="pk_replies"),
    )
    op.create_index("ix_replies_created_at", "replies", ["created_at"])

    op.create_table(
        "users",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
    )

    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("user_id", sa.Uuid, nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("label", sa.String(100), server_default="", nullable=False),
        sa.Column("prefix", sa.String(16), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("per_minute", sa.Integer, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("last_used_at", MOMENT),
        sa.Column("revoked_at", MOMENT),
        sa.Column("allowances", DOCUMENT),
        sa.CheckConstraint("role IN ('admin', 'author', 'player', 'viewer')", name=op.f("ck_api_keys_role")),
        sa.CheckConstraint("per_minute > 0", name=op.f("ck_api_keys_per_minute")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_api_keys_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.UniqueConstraint("digest", name="uq_api_keys_digest"),
    )
    op.create_index("ix_api_keys_user_id", "api_keys", ["user_id"])

    op.create_table(
        "evaluations",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("slug", sa.String(64), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text, server_default="", nullable=False),
        sa.Column("version", sa.String(50), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("scoring_type", sa.String(50)),
        sa.Column("category", sa.String(100), server_default="", nullable=False),
        sa.Column("tags", WORDS, nullable=False),
        sa.Column("search", sa.Text, nullable=False),
        sa.Column("is_public", sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column("created_by", sa.Uuid),
        sa.Column("forked_from", sa.Uuid),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("deleted_at", MOMENT),
        sa.CheckConstraint(
            "scoring_type IN ('binary', 'proportional', 'cumulative')", name=op.f("ck_evaluations_scoring_type")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name="fk_evaluations_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_evaluations"),
    )
    op.create_index("ix_evaluations_category", "evaluations", ["category", "id"])
    op.create_index("ix_evaluations_origin", "evaluations", ["forked_from"])
    op.create_index("ix_evaluations_own_private", "evaluations", ["created_by", "is_public", "id"])
    op.create_index("ix_evaluations_owner", "evaluations", ["created_by", "id"])
    op.create_index("ix_evaluations_public", "evaluations", ["is_public", "id"])
    op.create_index("ix_evaluations_public_slug", "evaluations", ["is_public", "slug", "id"])
    op.create_index("ix_evaluations_slug", "evaluations", ["slug", "id"])
    if op.get_bind().dialect.name == "postgresql":
        op.create_index("ix_evaluations_tags", "evaluations", ["tags"], postgresql_using="gin")
    op.create_index(
        "uq_evaluations_bundled_slug",
        "evaluations",
        ["slug"],
        unique=True,
        sqlite_where=sa.text("created_by IS NULL AND deleted_at IS NULL"),
        postgresql_where=sa.text("created_by IS NULL AND deleted_at IS NULL"),
    )
    op.create_index(
        "uq_evaluations_owner_slug",
        "evaluations",
        ["created_by", "slug"],
        unique=True,
        sqlite_where=sa.text("deleted_at IS NULL"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    )

    op.create_table(
        "games",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("config", DOCUMENT, nullable=False),
        sa.Column("is_public", sa.Boolean, nullable=False),
        sa.Column("created_by", sa.Uuid),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name="fk_games_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_games"),
    )
    op.create_index("ix_games_created_by", "games", ["created_by"])

    op.create_table(
        "gateway_feedback",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("trace", sa.Uuid, nullable=False),
        sa.Column("user_id", sa.Uuid, nullable=False),
        sa.Column("rating", sa.Integer),
        sa.Column("liked", sa.Boolean),
        sa.Column("scores", DOCUMENT),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("rating BETWEEN 1 AND 5", name=op.f("ck_gateway_feedback_rating")),
        sa.CheckConstraint("rating IS NOT NULL OR liked IS NOT NULL", name=op.f("ck_gateway_feedback_says_something")),
        sa.ForeignKeyConstraint(["trace"], ["gateway_requests.trace"], name="fk_gateway_feedback_trace"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_gateway_feedback_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_gateway_feedback"),
        sa.UniqueConstraint("trace", "user_id", name="uq_gateway_feedback_trace_user_id"),
    )

    op.create_table(
        "gateway_texts",
        sa.Column("trace", sa.Uuid, nullable=False),
        sa.Column("prompt", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["trace"], ["gateway_requests.trace"], name="fk_gateway_texts_trace"),
        sa.PrimaryKeyConstraint("trace", name="pk_gateway_texts"),
    )

    op.create_table(
        "players",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("info", DOCUMENT, nullable=False),
        sa.Column("user_id", sa.Uuid),
        sa.Column("created_by", sa.Uuid),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name="fk_players_created_by"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_players_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_players"),
        sa.UniqueConstraint("created_by", "name", name="uq_players_created_by_name"),
    )
    op.create_index("ix_players_user", "players", ["user_id"])

    op.create_table(
        "evaluation_reviews",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("evaluation_id", sa.Uuid, nullable=False),
        sa.Column("user_id", sa.Uuid, nullable=False),
        sa.Column("rating", sa.Integer, nullable=False),
        sa.Column("review", sa.Text, server_default="", nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("rating BETWEEN 1 AND 5", name=op.f("ck_evaluation_reviews_rating")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name="fk_evaluation_reviews_evaluation_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_evaluation_reviews_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_evaluation_reviews"),
        sa.UniqueConstraint("evaluation_id", "user_id", name="uq_evaluation_reviews_evaluation_id_user_id"),
    )
    op.create_index("ix_evaluation_reviews_newest", "evaluation_reviews", ["evaluation_id", "updated_at"])

    op.create_table(
        "evaluation_templates",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("evaluation_id", sa.Uuid, nullable=False),
        sa.Column("downloads", sa.Integer, server_default="0", nullable=False),
        sa.Column("rating", sa.Double),
        sa.Column("reviews", sa.Integer, server_default="0", nullable=False),
        sa.Column("featured", sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column("trend", sa.Double, nullable=False),
        sa.Column("listed", sa.Boolean, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name="fk_evaluation_templates_evaluation_id"),
        sa.PrimaryKeyConstraint("id", name="pk_evaluation_templates"),
        sa.UniqueConstraint("evaluation_id", name="uq_evaluation_templates_evaluation_id"),
    )
    op.create_index("ix_evaluation_templates_downloads", "evaluation_templates", ["listed", "downloads", "id"])
    op.create_index("ix_evaluation_templates_featured", "evaluation_templates", ["listed", "featured", "id"])
    op.create_index("ix_evaluation_templates_newest", "evaluation_templates", ["listed", "id"])
    op.create_index("ix_evaluation_templates_rating", "evaluation_templates", ["listed", "rating", "reviews", "id"])
    op.create_index("ix_evaluation_templates_trend", "evaluation_templates", ["listed", "trend", "id"])

    op.create_table(
        "evaluation_versions",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("evaluation_id", sa.Uuid, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("version", sa.String(50), nullable=False),
        sa.Column("definition", DOCUMENT, nullable=False),
        sa.Column("examples", DOCUMENT, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("note", sa.Text, server_default="", nullable=False),
        sa.Column("created_by", sa.Uuid),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name="fk_evaluation_versions_created_by"),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name="fk_evaluation_versions_evaluation_id"),
        sa.PrimaryKeyConstraint("id", name="pk_evaluation_versions"),
        sa.UniqueConstraint("evaluation_id", "revision", name="uq_evaluation_versions_evaluation_id_revision"),
        sa.UniqueConstraint("evaluation_id", "version", name="uq_evaluation_versions_evaluation_id_version"),
    )

    op.create_table(
        "rounds",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("game_session_id", sa.Uuid, nullable=False),
        sa.Column("player_id", sa.Uuid, nullable=False),
        sa.Column("round_number", sa.Integer, nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["game_session_id"], ["games.id"], name="fk_rounds_game_session_id"),
        sa.ForeignKeyConstraint(["player_id"], ["players.id"], name="fk_rounds_player_id"),
        sa.PrimaryKeyConstraint("id", name="pk_rounds"),
        sa.UniqueConstraint(
            "game_session_id", "player_id", "round_number", name="uq_rounds_game_session_id_player_id_round_number"
        ),
    )

    op.create_table(
        "game_evaluations",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("game_session_id", sa.Uuid, nullable=False),
        sa.Column("evaluation_id", sa.Uuid, nullable=False),
        sa.Column("version_id", sa.Uuid, nullable=False),
        sa.Column("weight", sa.Double, nullable=False),
        sa.Column("dimension", sa.String(100), nullable=False),
        sa.Column("config_overrides", DOCUMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("detached_at", MOMENT),
        sa.CheckConstraint("weight >= 0 AND weight <= 1", name=op.f("ck_game_evaluations_weight")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name="fk_game_evaluations_evaluation_id"),
        sa.ForeignKeyConstraint(["game_session_id"], ["games.id"], name="fk_game_evaluations_game_session_id"),
        sa.ForeignKeyConstraint(["version_id"], ["evaluation_versions.id"], name="fk_game_evaluations_version_id"),
        sa.PrimaryKeyConstraint("id", name="pk_game_evaluations"),
    )
    op.create_index("ix_game_evaluations_game", "game_evaluations", ["game_session_id"])

    op.create_table(
        "evaluation_scores",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("game_session_id", sa.Uuid),
        sa.Column("player_id", sa.Uuid),
        sa.Column("evaluation_id", sa.Uuid, nullable=False),
        sa.Column("version_id", sa.Uuid, nullable=False),
        sa.Column("attachment_id", sa.Uuid),
        sa.Column("round_number", sa.Integer),
        sa.Column("raw_score", sa.Double),
        sa.Column("normalized_score", sa.Double),
        sa.Column("verdict", sa.String(40), nullable=False),
        sa.Column("rule_breakdown", DOCUMENT, nullable=False),
        sa.Column("dimension_scores", DOCUMENT, nullable=False),
        sa.Column("context_snapshot", DOCUMENT, nullable=False),
        sa.Column("record", DOCUMENT, nullable=False),
        sa.Column("created_by", sa.Uuid),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["attachment_id"], ["game_evaluations.id"], name="fk_evaluation_scores_attachment_id"),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name="fk_evaluation_scores_created_by"),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name="fk_evaluation_scores_evaluation_id"),
        sa.ForeignKeyConstraint(["game_session_id"], ["games.id"], name="fk_evaluation_scores_game_session_id"),
        sa.ForeignKeyConstraint(["player_id"], ["players.id"], name="fk_evaluation_scores_player_id"),
        sa.ForeignKeyConstraint(["version_id"], ["evaluation_versions.id"], name="fk_evaluation_scores_version_id"),
        sa.PrimaryKeyConstraint("id", name="pk_evaluation_scores"),
        sa.UniqueConstraint(
            "attachment_id",
            "player_id",
            "round_number",
            name="uq_evaluation_scores_attachment_id_player_id_round_number",
        ),
    )
    op.create_index("ix_evaluation_scores_evaluation", "evaluation_scores", ["evaluation_id", "id"])
    op.create_index(
        "ix_evaluation_scores_game",
        "evaluation_scores",
        ["game_session_id", "id"],
        sqlite_where=sa.text("game_session_id IS NOT NULL"),
        postgresql_where=sa.text("game_session_id IS NOT NULL"),
    )
    op.create_index(
        "ix_evaluation_scores_player",
        "evaluation_scores",
        ["player_id", "id"],
        sqlite_where=sa.text("player_id IS NOT NULL"),
        postgresql_where=sa.text("player_id IS NOT NULL"),
    )
    op.create_index("ix_evaluation_scores_user", "evaluation_scores", ["created_by", "id"])

    users = sa.table("users", sa.column("id", sa.Uuid), sa.column("name"), sa.column("created_at", MOMENT))
    local = {"id": UUID(int=1), "name": "local", "created_at": datetime.now(UTC)}
    op.bulk_insert(users, [local])
