"""What the processes of a gateway tell each other: breakers that are open, and answers to be given again."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "gateway_breakers",
        sa.Column("place", sa.String(64), primary_key=True),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("told_by", sa.String(32), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rest", sa.Double, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("trouble", sa.String(20), nullable=False),
    )
    op.create_table(
        "gateway_answers",
        sa.Column("request", sa.LargeBinary(32), primary_key=True),
        sa.Column("form", sa.LargeBinary(32), index=True),
        sa.Column("answer", sa.LargeBinary, nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False, index=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False, index=True),
    )
