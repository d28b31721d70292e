"""Expands the short form to a rubric with one dimension, `points`."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata

from rubrica.errors import Problem
from rubrica.model.bounds import LARGEST_NUMBER
from rubrica.model.decisions import ScoreSpec, Verdict
from rubrica.model.dimensions import Dimension
from rubrica.model.judge_options import Normalisation
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.model.shortform import ShortForm
from rubrica.scorers.pattern_table import PatternTable
from rubrica.scorers.rule_table import type_of

from .recipes import RecipeCompiler, reach_of
from .vocabulary import Vocabulary

POINTS = "points"


def expand(short: ShortForm) -> tuple[Rubric, list[Problem]]:
    """The rubric a short form stands for, and what is wrong with its rules.

    The most points possible is `max_score`; left out, it is worked out from the rules where they have a bound.
    """
    vocabulary = Vocabulary(extra=short_names(short))
    maximum = short.max_score
    if maximum is None:
        rules = RecipeCompiler(vocabulary, PatternTable()).rules(short.rules, ())
        maximum = _most_points(short, reach_of(rules)[1], vocabulary)
    binary = short.scoring_type == "binary"
    dimension = Dimension(
        title="Points",
        scale=Scale(min=0, max=1 if binary else maximum),
        rules=short.rules,
        scoring=short.scoring_type,
        possible=maximum if short.scoring_type == "proportional" else None,
        win_at=short.win_at if short.win_at is not None or not binary else short.max_score,
        weight=1.0,
    )
    won = (Verdict(label="win", when=f"{POINTS} > 0"), Verdict(label="lose"))
    rubric = Rubric(
        name=slug(short.name),
        version=short.version if re.fullmatch(r"\d+(\.\d+){0,2}", short.version) else "1.0",
        title=short.name,
        description=short.description,
        category=short.category,
        tags=short.tags,
        scale=Scale(),
        dimensions={POINTS: dimension},
        score=ScoreSpec(out_of=1.0),
        verdicts=won if binary else (Verdict(label="scored"),),
        normalization=short.normalization_config or Normalisation(),
    )
    return rubric, vocabulary.problems


def short_names(short: ShortForm) -> frozenset[str]:
    """The context names the rules of a short form declare."""
    return frozenset(name for rule in short.rules for name in type_of(rule).context_names(rule))


def slug(name: str) -> str:
    """A title as a rubric name. Letters of other scripts give way to a digest, so that two titles still differ.

    >>> slug("Norm MacDonald Classic"), slug("Über Zäune")
    ('norm-macdonald-classic', 'uber-zaune')
    >>> slug("速度 2"), slug("速度") == slug("幽默")
    ('2-7c222f6d', False)
    """
    plain = unicodedata.normalize("NFKD", name)
    words = re.sub(r"[^a-z0-9]+", "-", plain.encode("ascii", "ignore").decode().lower()).strip("-")
    if words and not any(letter.isalpha() and not letter.isascii() for letter in plain):
        return words[:64].rstrip("-")
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{words[:55].rstrip('-') or 'rubric'}-{digest}"


def _most_points(short: ShortForm, most: float, vocabulary: Vocabulary) -> float:
    if short.scoring_type == "binary":
        return 1.0
    if 0 < most <= LARGEST_NUMBER:
        return most
    if short.scoring_type == "proportional" and most == math.inf:
        return 1.0  # a proportion is at most 1
    what = "no rule gives points" if most <= 0 else "the rules have no upper bound, or a very large one"
    vocabulary.report(f"the most points possible cannot be told: {what}", ("rules",), "add `max_score: N`")
    return 1.0
