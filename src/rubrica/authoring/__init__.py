"""The author's side: what is wrong with the wording of criteria, and drafts of new ones."""
