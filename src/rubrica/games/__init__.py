"""Games: players, rounds and what judges them, scores, leaderboards."""
