"""System prompts of voice companions, judged over scenarios."""
