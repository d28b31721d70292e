"""The Context: everything a scorer may see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import core_schema

from rubrica.errors import ContextError
from rubrica.hints import did_you_mean
from rubrica.phrases import fault_path, fault_words

from .bounds import LARGEST_NUMBER
from .criteria import MOST_CRITERIA, Criterion, check_criteria

LONGEST_TEXT = 50_000_000
"""Characters; a longer text is refused rather than held in memory several times over."""
DEEPEST = 100
"""Levels of lists and mappings in what comes along with the texts."""


MOST_MEMBERS = 100_000
"""Messages, rounds and other members of a list."""
LAST_ROUND = 2**31 - 1
ShortText = Annotated[str, Field(max_length=100_000)]


def _clean(value: Any) -> Any:
    """Lone surrogates cannot be encoded or stored: they become U+FFFD. Anything else stays as it is."""
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _plain(value: Any, levels: int = DEEPEST) -> Any:
    """Data whose keys and texts can all be stored; refused where it is nested too deeply for that."""
    match value:
        case str():
            return _clean(value)
        case dict() | list() | tuple() if levels == 0:
            raise ContextError(f"the context is nested more than {DEEPEST} levels deep")
        case dict():
            return {_clean(key): _plain(inner, levels - 1) for key, inner in value.items()}
        case list():
            return [_plain(inner, levels - 1) for inner in value]
        case tuple():
            return tuple(_plain(inner, levels - 1) for inner in value)
        case _:
            return value


def _text_schema(_source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
    """A text as it is, or else cleaned: that way Python code runs for odd texts only."""
    text = core_schema.str_schema(max_length=LONGEST_TEXT)
    cleaned = core_schema.no_info_before_validator_function(_clean, core_schema.str_schema())
    either = core_schema.union_schema([text, cleaned], mode="left_to_right", custom_error_type="string_type")
    return core_schema.chain_schema([either, text])


Text = Annotated[
    str,
    GetPydanticSchema(_text_schema),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_TEXT}),
]


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Literal["system", "user", "assistant", "tool"]
    content: Text


class Metadata(BaseModel):
    """How the response came about. Other keys are kept, and numbers among them can be named in formulas."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    response_time: Annotated[float, Field(ge=0, le=LARGEST_NUMBER, description="seconds")] | None = None
    token_count: Annotated[int, Field(ge=0, le=int(LARGEST_NUMBER))] | None = None
    model_used: ShortText | None = None
    timestamp: datetime | None = None
    round_number: Annotated[int, Field(ge=0, le=LAST_ROUND)] | None = None


class Round(BaseModel):
    """An earlier round of the same player."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    round_number: Annotated[int, Field(ge=-LAST_ROUND, le=LAST_ROUND)] = 0
    prompt: Text = ""
    response: Text = ""
    scores: dict[str, Any] = Field({}, description="looked at when `custom_metrics` has no such name")
    entities_mentioned: Annotated[tuple[ShortText, ...], Field(max_length=MOST_MEMBERS)] | None = Field(
        None, description="left out: read off the response"
    )
    patterns_detected: dict[str, Any] = {}
    custom_metrics: dict[str, Any] = Field({}, description="for `cross_round_analysis`")


class Image(BaseModel):
    """A picture that belongs to the response."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[str, Field(max_length=LONGEST_TEXT)] = Field(description="a file path, http(s) or data: URL")
    alt: ShortText = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return {"url": data} if isinstance(data, str) else data


class Context(BaseModel):
    """All a scorer may see. Keys that are not fields here are taken as metadata.

    >>> Context.of({"response": "Paris.", "question_type": "FACTUAL"}).lookup("question_type")
    'FACTUAL'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: Text = Field("", description="what was asked")
    response: Text = Field("", description="what is judged")
    messages: tuple[Message, ...] = Field(
        (), max_length=MOST_MEMBERS, description="a chat; gives prompt and response when they are left out"
    )
    metadata: Metadata = Field(Metadata(), description="how the response came about")
    round_history: tuple[Round, ...] = Field(
        (), max_length=MOST_MEMBERS, description="earlier rounds of the same player, oldest first"
    )
    game_config: dict[str, Any] = Field(default_factory=dict)
    player_info: dict[str, Any] = Field(default_factory=dict)
    session_id: ShortText | None = None
    custom_metrics: dict[str, Any] = Field(default_factory=dict, description="numbers that formulas read by name")
    images: tuple[Image, ...] = Field((), max_length=1_000, description="pictures that belong to the response")
    criteria: tuple[Criterion, ...] = Field(
        (), max_length=MOST_CRITERIA, description="what this response is judged by, for a dimension `from: criteria`"
    )

    @field_validator("criteria")
    @classmethod
    def _each_once(cls, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        check_criteria(criteria)
        return criteria

    @classmethod
    def of(cls, data: Mapping[str, Any] | Context | None = None, **fields: Any) -> Context:
        """A Context from loose data; a ContextError lists everything that does not fit.

        A chat without prompt or response is read as its last question and the answer to it, if there is one. A
        response that is an object or a list, such as a question with its options, is read as its JSON text.
        """
        if isinstance(data, Context):
            if not fields:
                return data
            data = data.as_given("python")
        loose = _plain({**(data or {}), **fields})
        if isinstance(loose.get("response"), dict | list):
            loose["response"] = _json_text(loose["response"])
        try:
            context = cls.model_validate(_sorted_keys(loose))
        except ValidationError as error:
            places = ((fault_path(e, loose), fault_words(e) + _hint(e)) for e in error.errors())
            faults = (f"{'.'.join(map(str, path)) or 'context'}: {words}" for path, words in places)
            raise ContextError("the context cannot be read: " + "; ".join(faults)) from None
        if context.messages and not (context.prompt and context.response):
            texts = {
                "prompt": context.prompt or _last(context, "user"),
                "response": context.response or _answer(context),
            }
            return context.model_copy(update={name: text for name, text in texts.items() if text})
        return context

    @property
    def has_response(self) -> bool:
        """Whether there is a response, if only an empty one; a chat that ends with a question has none.

        >>> Context.of({"prompt": "Why?"}).has_response, Context.of({"prompt": "Why?", "response": ""}).has_response
        (False, True)
        """
        return bool(self.response) or "response" in self.model_fields_set or _last_speaker(self) == "assistant"

    @property
    def awaits_answer(self) -> bool:
        """Whether the last word of a chat is the user's, and no response is given."""
        return _last_speaker(self) == "user" and not self.has_response

    def as_given(self, mode: Literal["json", "python"] = "json") -> dict[str, Any]:
        """What was given of it, to be read by `of` again; an empty response is told apart from none."""
        found = self.model_dump(mode=mode, exclude_defaults=True)
        matters = bool(self.criteria or self.messages)
        return {**found, "response": ""} if matters and self.has_response and not self.response else found

    @property
    def history(self) -> tuple[str, ...]:
        """Earlier replies of the same speaker, oldest first."""
        if self.round_history:
            return tuple(round_.response for round_ in self.round_history)
        if not self.messages:
            return ()
        replies = [m.content for m in self.messages if m.role == "assistant"]
        return tuple(replies[:-1] if replies and replies[-1] == self.response else replies)

    @property
    def asked(self) -> tuple[str, ...]:
        """Earlier turns of the user, oldest first."""
        if self.round_history:
            return tuple(round_.prompt for round_ in self.round_history)
        if not self.messages:
            return ()
        turns = [m.content for m in self.messages if m.role == "user"]
        return tuple(turns[:-1] if turns and turns[-1] == self.prompt else turns)

    def lookup(self, name: str) -> Any:
        """A custom metric or a piece of metadata by name, or None."""
        metrics = self.custom_metrics
        if name in metrics:
            return metrics[name]
        if name in Metadata.model_fields:
            return getattr(self.metadata, name)
        return (self.metadata.model_extra or {}).get(name)


def refuse_files(context: Context) -> Context:
    """The context, where each of its pictures is given by its address or is data itself. Everything that others send to
    a server passes here before it is judged: they have no business with files of its machine.

    >>> refuse_files(Context.of({"response": "x", "images": ["/etc/passwd"]}))
    Traceback (most recent call last):
        ...
    rubrica.errors.ContextError: images: give http(s) or data: URLs here, not paths of files
    """
    if not all(image.url[:8].lower().startswith(("http://", "https://", "data:")) for image in context.images):
        raise ContextError("images: give http(s) or data: URLs here, not paths of files")
    return context


def _sorted_keys(data: dict[str, Any]) -> dict[str, Any]:
    """Keys that are not fields of a Context moved under `metadata`."""
    fields = Context.model_fields
    if data.keys() <= fields.keys():
        return data
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        return data
    others = {key: value for key, value in data.items() if key not in fields}
    return {key: value for key, value in data.items() if key in fields} | {"metadata": {**others, **(metadata or {})}}


def _hint(fault: Mapping[str, Any]) -> str:
    """What a key of a criterion may have been meant for, where nothing knows it, or what a name looks like."""
    place = fault["loc"]
    if place[:1] == ("criteria",) and fault["type"] == "string_pattern_mismatch":
        return " (a letter, then letters, digits and _)"
    if fault["type"] != "extra_forbidden" or place[0] != "criteria" or len(place) != 3:
        return ""
    return f" ({did_you_mean(str(place[-1]), Criterion.model_fields, 'remove it')})"


def _json_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContextError(f"the response is not plain data: {error}") from None


def _last(context: Context, role: str) -> str:
    return next((message.content for message in reversed(context.messages) if message.role == role), "")


def _answer(context: Context) -> str:
    """The last answer, unless the user spoke again after it: nobody has answered that yet."""
    return _last(context, "assistant") if _last_speaker(context) == "assistant" else ""


def _last_speaker(context: Context) -> str | None:
    """Who of the two has the last word of a chat."""
    roles = (message.role for message in reversed(context.messages))
    return next((role for role in roles if role in ("user", "assistant")), None)
