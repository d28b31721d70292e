"""Runs as the studio shows them: which there are, their evaluations by the page, and a run that is started here."""
