"""The quality-routing gateway: classify a question, ask the cheap model, grade its answer, escalate."""
