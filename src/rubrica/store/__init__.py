"""Rubrics, versions, games, scores, reviews and keys in a database: tables, migrations and queries, and nothing else.

A query is a plain function whose first argument is a `sqlalchemy.Connection`. It is run by `Database.read` or, in one
transaction, by `Database.write`, on SQLite and PostgreSQL alike.
"""
