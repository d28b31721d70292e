"""The arena: who may do what with evaluations, games, scores and the marketplace, as functions of a connection."""
