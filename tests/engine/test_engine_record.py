"""Records are made by place for speed; what stands at each place is called as its field is."""

from __future__ import annotations

import ast
import inspect

import pytest

from rubrica.engine import record
from rubrica.model.evaluation import DimensionResult, Evaluation


def word(argument: ast.expr) -> str:
    match argument:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ast.unparse(argument)


@pytest.mark.parametrize(("kind", "at_least"), [(Evaluation, 26), (DimensionResult, 18)])
def test_arguments_by_place_are_called_as_their_fields_are(kind: type, at_least: int) -> None:
    tree = ast.parse(inspect.getsource(record))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and word(node.func) == kind.__name__]
    longest = max((call.args for call in calls), key=len)
    assert len(longest) >= at_least
    assert [word(argument) for argument in longest] == list(kind.__struct_fields__)[: len(longest)]  # type: ignore[attr-defined]
