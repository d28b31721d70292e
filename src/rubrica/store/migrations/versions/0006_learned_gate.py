"""What comparisons with tier-1 teach the learned gate, and what that did with a request."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("gateway_requests", sa.Column("zone", sa.String(10)))
    op.add_column("gateway_requests", sa.Column("shadow_base", sa.Double))
    op.add_column("gateway_requests", sa.Column("shadow_sample", sa.JSON))
