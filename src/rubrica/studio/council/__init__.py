"""The council: ask a question, watch the stages, see the ranking."""
