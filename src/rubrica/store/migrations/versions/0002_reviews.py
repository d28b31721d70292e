"""Evaluations that people are to score themselves, and the scores they gave."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON()


def upgrade() -> None:
    op.create_table(
        "review_items",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("item", sa.String(32), nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("rubric", sa.String(120), nullable=False),
        sa.Column("rubric_hash", sa.String(64), nullable=False),
        sa.Column("stratum", sa.Text, nullable=False),
        sa.Column("questions", DOCUMENT, nullable=False),
        sa.Column("evaluation", DOCUMENT, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("assigned_to", sa.Uuid),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("done_at", MOMENT),
        sa.CheckConstraint("state IN ('open', 'done')", name=op.f("ck_review_items_state")),
        sa.ForeignKeyConstraint(["assigned_to"], ["users.id"], name="fk_review_items_assigned_to"),
        sa.PrimaryKeyConstraint("id", name="pk_review_items"),
        sa.UniqueConstraint("run", "item", name="uq_review_items_run_item"),
    )
    op.create_index("ix_review_items_queue", "review_items", ["state", "id"])
    op.create_index("ix_review_items_assigned", "review_items", ["assigned_to", "state", "id"])

    op.create_table(
        "review_scores",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("item_id", sa.Uuid, nullable=False),
        sa.Column("user_id", sa.Uuid),
        sa.Column("reviewer", sa.String(100), nullable=False),
        sa.Column("scores", DOCUMENT, nullable=False),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["review_items.id"], name="fk_review_scores_item_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_review_scores_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_review_scores"),
        sa.UniqueConstraint("item_id", "reviewer", name="uq_review_scores_item_id_reviewer"),
    )
