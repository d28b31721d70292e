"""The page at /docs: the OpenAPI document as people read it. One page of HTML, with nothing fetched from anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rubrica.report.rendering import stylesheet

Schema = Mapping[str, Any]
_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")
_TEMPLATES = Environment(
    loader=PackageLoader("rubrica.server"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a table: a parameter, or a key of a body."""

    name: str
    kind: Markup
    required: bool
    about: Markup
    place: str = ""  # of a parameter: path, query or header


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    summary: str
    about: Markup
    parameters: Sequence[Field]
    body: Markup | None  # what kind of thing
    fields: Sequence[Field]  # of the body
    example: str
    replies: Sequence[tuple[str, str, Markup]]  # status, what it means, what kind of thing

    @property
    def anchor(self) -> str:
        return f"{self.method}{re.sub('[^a-z0-9]+', '-', self.path.lower())}".strip("-")


def reference_page(document: Schema) -> str:
    """The whole page."""
    shapes = document["components"]["schemas"]
    operations: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            operations[operation["tags"][0]].append(_operation(method, path, operation, shapes))
    groups = [(tag["name"], tag["description"], operations[tag["name"]]) for tag in document["tags"]]
    return _TEMPLATES.get_template("reference.html.j2").render(
        title=document["info"]["title"],
        version=document["info"]["version"],
        about=prose(document["info"]["description"]),
        groups=[group for group in groups if group[2]],
        shapes=[(name, prose(shape.get("description", "")), list(_fields(shape))) for name, shape in shapes.items()],
        style=stylesheet(),
    )


def prose(text: str) -> Markup:
    """A description's paragraphs, with its code, bold and slanted words.

    >>> prose("Send `key` & **wait**.")
    Markup('<p>Send <code>key</code> &amp; <strong>wait</strong>.</p>')
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]
    return Markup("").join(Markup("<p>{}</p>").format(_marked(paragraph)) for paragraph in paragraphs)


def _marked(text: str) -> Markup:
    result, at = Markup(""), 0
    for found in _MARKS.finditer(text):
        code, strong, slanted = found.groups()
        tag = "code" if code else "strong" if strong else "em"
        result += escape(text[at : found.start()])
        result += Markup(f"<{tag}>{{}}</{tag}>").format(code or strong or slanted)  # noqa: S704 - one of three tags
        at = found.end()
    return result + escape(text[at:])


def _operation(method: str, path: str, given: Schema, shapes: Mapping[str, Schema]) -> Operation:
    media: Schema = next(iter(given.get("requestBody", {}).get("content", {}).values()), {})
    schema = media.get("schema", {})
    named = shapes.get(_name(schema), schema)
    return Operation(
        method=method,
        path=path,
        summary=given["summary"],
        about=prose(given.get("description", "")),
        parameters=[_parameter(parameter) for parameter in given.get("parameters", ())],
        body=kind_of(schema) if media else None,
        fields=list(_fields(named)),
        example=_example(media, named),
        replies=[
            (status, reply.get("description", ""), _content(reply))
            for status, reply in given["responses"].items()
            if status != "default"
        ],
    )


def _parameter(given: Schema) -> Field:
    about = given.get("description") or given["schema"].get("description", "")
    return Field(
        given["name"], kind_of(given["schema"]), given.get("required", False), _marked(about), given.get("in", "")
    )


def _fields(schema: Schema) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        yield Field(name, kind_of(part), name in required, _marked(part.get("description", "")))


def _content(reply: Schema) -> Markup:
    return Markup(", ").join(kind_of(media.get("schema", {})) for media in reply.get("content", {}).values())


def _example(media: Schema, schema: Schema) -> str:
    """The first example there is, as it would be sent."""
    examples = [named.get("value") for named in media.get("examples", {}).values()]
    for value in (*examples, media.get("example"), *schema.get("examples", ())):
        if value is not None:
            return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return ""


def kind_of(schema: Schema) -> Markup:
    """A schema in a few words; named shapes are linked.

    >>> str(kind_of({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}))
    'list of string, or null'
    """
    if name := _name(schema):
        return Markup('<a href="#shape-{0}">{0}</a>').format(name)
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return Markup(", or ").join(kind_of(one) for one in several)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return Markup(", ").join(Markup("<code>{}</code>").format(json.dumps(value)) for value in values)
    kind = schema.get("type", "anything")
    if kind == "array":
        return Markup("list of {}").format(kind_of(schema.get("items", {})))
    if isinstance(kind, list):
        return escape(" or ".join(kind))
    text = f"{kind} ({schema['format']})" if "format" in schema else kind
    return escape(text + _range(schema))


def _range(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None and most is None:
        return ""
    if most is None:
        return f", {least:g} or more"
    return f", up to {most:g}" if least is None else f", {least:g} to {most:g}"


def _name(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
