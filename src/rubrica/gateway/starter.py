"""A gateway.yaml with every setting, what it means and what holds without it, written from the settings themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .settings import GatewaySettings

HEAD = """\
# How a gateway runs: rubrica gateway --config gateway.yaml
# Every key may be left out. What stands here is what holds then; a line in comments has no value yet, or an example.
"""


def starter() -> str:
    """The whole file.

    >>> print(starter().split("\\n\\n")[1].splitlines()[-1])
    tier0: "local:"
    """
    return HEAD + "".join(_entry(name, field, "") for name, field in GatewaySettings.model_fields.items())


def _entry(name: str, field: FieldInfo, indent: str) -> str:
    """One setting; at the outermost level with an empty line before it."""
    gap = "" if indent else "\n"
    part = _part(field)
    if part is not None:
        return gap + "".join(f"{line}\n" for line in _section(name, field, part))
    told = f"{gap}{indent}# {field.description}{_choices(field)}\n"
    value = field.get_default(call_default_factory=True)
    if field.is_required() or value is None or (not value and field.examples):
        example = (field.examples or [""])[0]
        return f"{told}{indent}# {name}: {_plain(example)}".rstrip() + "\n"
    return f"{told}{indent}{name}: {_plain(value)}\n"


def _section(name: str, field: FieldInfo, part: type[BaseModel]) -> Iterator[str]:
    """A group of settings; in comments where there is none by default."""
    mark = "" if field.default is not None else "# "
    yield f"# {field.description or (part.__doc__ or '').strip()}"
    yield f"{mark}{name}:"
    for own, inner in part.model_fields.items():
        for line in _entry(own, inner, "  ").splitlines():
            yield mark + (line.replace("  # ", "  ", 1) if mark and f"# {own}:" in line else line)


def _part(field: FieldInfo) -> type[BaseModel] | None:
    if get_origin(field.annotation) is dict:
        return None
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _choices(field: FieldInfo) -> str:
    """The words to choose from, where there are some."""
    kinds = (field.annotation, *get_args(field.annotation))
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    return f" ({', '.join(words)})" if words else ""


def _plain(value: Any) -> str:
    """A value as YAML writes it; JSON is YAML, and plain words need no quotes."""
    if isinstance(value, str) and value and value.replace("-", "").replace(".", "").isalnum():
        return value
    return json.dumps(
        sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
    )
