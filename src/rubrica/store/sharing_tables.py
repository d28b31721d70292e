"""The tables through which the processes of a gateway tell each other what each of them found out."""

from __future__ import annotations

from sqlalchemy import Column, Double, Integer, LargeBinary, String, Table

from .columns import UtcDateTime
from .tables import metadata

gateway_breakers = Table(
    "gateway_breakers",
    metadata,
    Column("place", String(64), primary_key=True),  # a digest of the model, its address, its key and its use
    Column("model", String(200), nullable=False),  # for people who look
    Column("told_by", String(32), nullable=False),  # the process
    Column("told_at", UtcDateTime, nullable=False),  # by the clock of the database, where it has one
    Column("rest", Double, nullable=False),  # seconds that it is left alone from then on; 0: it is back
    Column("failures", Integer, nullable=False),
    Column("trouble", String(20), nullable=False),  # a word of ours, never what a provider said
)

gateway_answers = Table(
    "gateway_answers",
    metadata,
    Column("request", LargeBinary(32), primary_key=True),  # a digest of it, and of all that its answer depends on
    Column("form", LargeBinary(32), index=True),  # the same of the form of its question; None: it has none
    Column("answer", LargeBinary, nullable=False),
    Column("answered_at", UtcDateTime, nullable=False, index=True),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)
