"""Teams, what each model was paid, the deployment that answered, and limits by the minute."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("gateway_requests", sa.Column("team", sa.String(40)))
    op.add_column("gateway_requests", sa.Column("deployment", sa.String(200)))
    op.add_column("gateway_requests", sa.Column("model_usd", sa.JSON))
    op.create_table(
        "rate_minutes",
        sa.Column("account", sa.String(80), nullable=False),
        sa.Column("minute", sa.BigInteger, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("account", "minute", name="pk_rate_minutes"),
    )
