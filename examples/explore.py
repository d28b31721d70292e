"""A rubric step by step, as in a notebook: each `# %%` begins a cell. Run it as `python examples/explore.py`."""

# %% A rubric is data: load it, and look at what it asks.
from pathlib import Path

import rubrica

rubric = rubrica.load(Path(__file__).parent / "ci" / "support-reply.yaml")
for name, dimension in rubric.dimensions.items():
    print(f"{name:10} {dimension.weight:.0%}  {dimension.asks}")

# %% Compile it once, and judge as many texts as you like.
plan = rubrica.compile(rubric)
replies = {
    "helpful": "Sorry about that. Please open your account and choose 'Billing'.",
    "curt": "Open your account.",
    "useless": "We cannot help with that.",
}
evaluations = {
    name: rubrica.evaluate(plan, prompt="Where is my invoice?", response=text) for name, text in replies.items()
}
for name, evaluation in evaluations.items():
    print(f"{name:10} {evaluation.score:5.1f}  {evaluation.verdict}")

# %% Every point has a reason.
for name, result in evaluations["useless"].dimensions.items():
    print(f"{name:10} {result.value:4.1f}  {result.why}")

# %% What if kindness counted for more? Stored scores are decided again; nothing is scored twice.
weights = {"help": 0.3, "plainness": 0.2, "kindness": 0.5}
document = rubric.model_dump(mode="json", exclude_unset=True)
for name, weight in weights.items():
    document["dimensions"][name]["weight"] = weight
kinder = rubrica.rejudge(document, evaluations["curt"])
print(f"curt: {evaluations['curt'].score:.0f} before, {kinder.score:.0f} where kindness counts half")
