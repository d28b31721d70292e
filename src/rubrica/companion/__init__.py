"""System prompts of voice companions, judged over scenarios; single replies and conversations, too."""

from .api import (
    JudgedConversation,
    ajudge_conversation,
    ajudge_prompt,
    ajudge_reply,
    judge_conversation,
    judge_prompt,
    judge_reply,
)
from .scenarios import Scenario, load_scenarios
from .trial import Trial

__all__ = [
    "JudgedConversation",
    "Scenario",
    "Trial",
    "ajudge_conversation",
    "ajudge_prompt",
    "ajudge_reply",
    "judge_conversation",
    "judge_prompt",
    "judge_reply",
    "load_scenarios",
]
