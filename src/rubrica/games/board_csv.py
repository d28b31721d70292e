"""A leaderboard as a table for spreadsheets."""

from __future__ import annotations

import csv
import io

from rubrica.runs.files.table_writer import spreadsheet_text

from .leaderboard_access import Leaderboard


def board_csv(board: Leaderboard) -> str:
    """The rows of a page as CSV: rank, player, score, every dimension. What has no number is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ["rank", "tied", "player", "player_id", "team", "score", "overall"]
    writer.writerow([*head, *(f"dimension: {name}" for name in board.dimensions), "rounds", "games", "missing"])
    for row in board.items:
        missing = "; ".join(f"{each.rubric}: {each.reason}" for each in row.missing)
        writer.writerow(
            [
                row.rank,
                "yes" if row.tied else "no",
                spreadsheet_text(row.player),
                row.player_id,
                spreadsheet_text(row.team or ""),
                row.score,
                row.overall,
                *(row.by_dimension.get(name) for name in board.dimensions),
                row.rounds,
                row.games,
                spreadsheet_text(missing),
            ]
        )
    return out.getvalue()
