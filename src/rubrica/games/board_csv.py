"""A leaderboard as a table for spreadsheets."""

from __future__ import annotations

import csv
import io

from rubrica.runs.files.table_writer import spreadsheet_text

from .leaderboard_access import Leaderboard


def board_csv(board: Leaderboard) -> str:
    """The rows of a page as CSV: rank, player, score, every dimension, and every rubric's mean points beside what they
    are compared as. What has no number is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ["rank", "tied", "player", "player_id", "team", "score", "overall"]
    rubrics = list(dict.fromkeys(score.rubric for row in board.items for score in row.scores))
    compared = [f"{what}: {name}" for name in rubrics for what in ("raw", "normalized")]
    dimensions = [f"dimension: {name}" for name in board.dimensions]
    writer.writerow([*head, *dimensions, "rounds", "games", "open", "missing", *compared])
    for row in board.items:
        scores = {score.rubric: (score.raw, score.normalized) for score in row.scores}
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
                row.open,
                spreadsheet_text(missing),
                *(figure for name in rubrics for figure in scores.get(name, (None, None))),
            ]
        )
    return out.getvalue()
