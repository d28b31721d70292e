"""Games: the list, one game, its rounds, boards and players."""
