"""Answers of the gateway that were not sent, what its judges were not shown, and question types that people correct."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("gateway_texts", sa.Column("rejected", sa.Text))
    op.add_column("gateway_texts", sa.Column("withheld", sa.Text))
    op.add_column("gateway_requests", sa.Column("grade_note", sa.String(500)))
    op.create_table(
        "gateway_corrections",
        sa.Column("trace", sa.Uuid, sa.ForeignKey("gateway_requests.trace"), primary_key=True),
        sa.Column("user_id", sa.Uuid, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("question_type", sa.String(64), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )
