"""Rubrica judges AI output with rubrics that people can read, trust and change.

>>> import rubrica
>>> evaluation = rubrica.evaluate("answer-quality", prompt="What is 2 + 2?", response="2 + 2 = 5")
>>> evaluation.verdict
'fail'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubrica.api import aevaluate, arank, compile, decide, evaluate, prefer, rank, rejudge
    from rubrica.engine.plan import Plan
    from rubrica.errors import ContextError, RubricaError, RubricError
    from rubrica.judges.jury import Jury
    from rubrica.judges.preference import Preference
    from rubrica.model.context import Context
    from rubrica.model.evaluation import Evaluation, Score, Unscored
    from rubrica.model.judge import Judge
    from rubrica.model.rubric import Rubric
    from rubrica.packs.library import load
    from rubrica.runs.lint import lint
    from rubrica.runs.probes.probe import probe
    from rubrica.runs.rewards.reward import Reward, reward
    from rubrica.runs.run import Run, arun, run
    from rubrica.testing import assert_passes

__version__ = "0.1.0"

__all__ = [
    "Context",
    "ContextError",
    "Evaluation",
    "Judge",
    "Jury",
    "Plan",
    "Preference",
    "Reward",
    "Rubric",
    "RubricError",
    "RubricaError",
    "Run",
    "Score",
    "Unscored",
    "__version__",
    "aevaluate",
    "arank",
    "arun",
    "assert_passes",
    "compile",
    "decide",
    "evaluate",
    "lint",
    "load",
    "prefer",
    "probe",
    "rank",
    "rejudge",
    "reward",
    "run",
]

_HOMES = {
    "rubrica.api": ("aevaluate", "arank", "compile", "decide", "evaluate", "prefer", "rank", "rejudge"),
    "rubrica.engine.plan": ("Plan",),
    "rubrica.errors": ("ContextError", "RubricError", "RubricaError"),
    "rubrica.judges.jury": ("Jury",),
    "rubrica.judges.preference": ("Preference",),
    "rubrica.model.context": ("Context",),
    "rubrica.model.evaluation": ("Evaluation", "Score", "Unscored"),
    "rubrica.model.judge": ("Judge",),
    "rubrica.model.rubric": ("Rubric",),
    "rubrica.packs.library": ("load",),
    "rubrica.runs.lint": ("lint",),
    "rubrica.runs.probes.probe": ("probe",),
    "rubrica.runs.rewards.reward": ("Reward", "reward"),
    "rubrica.runs.run": ("Run", "arun", "run"),
    "rubrica.testing": ("assert_passes",),
}


def __getattr__(name: str) -> Any:
    """Public names load on first use: `rubrica --help` should not pay for the engine."""
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module 'rubrica' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
