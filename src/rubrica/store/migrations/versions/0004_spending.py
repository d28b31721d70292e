"""What keys and users spend in a day, what is reserved for work under way, and how much a key may spend."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("usd_per_day", sa.Double))
    op.create_table(
        "spending_days",
        sa.Column("account", sa.String(80), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("spent_usd", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("account", "day", name="pk_spending_days"),
    )
    op.create_table(
        "spending_reservations",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("account", sa.String(80), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("usd", sa.Double, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", "account", name="pk_spending_reservations"),
    )
    op.create_index("ix_spending_reservations_account", "spending_reservations", ["account", "day"])
