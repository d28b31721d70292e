"""Reference pages of what can be called: the Python interface and the commands."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from pydantic import BaseModel
from typer.main import get_command

import rubrica
from docs.tables import GENERATED, table
from rubrica.cli.app import COMMANDS, command_module
from rubrica.model import evaluation, evidence

FUNCTIONS = (
    "load",
    "evaluate",
    "aevaluate",
    "prefer",
    "rank",
    "arank",
    "run",
    "arun",
    "compile",
    "decide",
    "rejudge",
    "lint",
    "reward",
    "probe",
    "assert_passes",
)
CLASSES = (
    "Rubric",
    "Context",
    "Plan",
    "Evaluation",
    "Score",
    "Unscored",
    "Preference",
    "Judge",
    "Jury",
    "Run",
    "Reward",
)
OPENED = ("Jury",)
"""Classes that a reader makes by calling them with arguments that are not fields."""

RESULTS = (
    evaluation.DimensionResult,
    evaluation.RuleHit,
    evaluation.GateResult,
    evaluation.SectionResult,
    evaluation.Step,
    evaluation.Cost,
    evaluation.Vote,
    evaluation.Remarks,
    evidence.Span,
)
ERRORS = ("RubricaError", "RubricError", "ContextError")


# --- Python -----------------------------------------------------------------------------------------------


def python_page() -> str:
    """The public names of the package, with their signatures, docstrings and fields."""
    names = sorted((*FUNCTIONS, *CLASSES, *ERRORS), key=str.lower)
    parts = [
        "# Python",
        GENERATED,
        f"The public names of `rubrica` {rubrica.__version__}; `rubrica.__version__` is the version. "
        "A rubric is given as a bundled name, a file path, plain data, a loaded `Rubric` or a `Plan`; a context as a "
        "mapping or a `Context`. The examples on this page start from:",
        "```python\nfrom rubrica import (\n" + "".join(f"    {name},\n" for name in names) + ")\n```",
    ]
    for heading, group in (("Functions", FUNCTIONS), ("Classes", CLASSES), ("Errors", ERRORS)):
        parts.append(f"## {heading}")
        for name in group:
            parts += [f"### `{name}`", *_described(name, getattr(rubrica, name))]
    parts += ["## Inside an Evaluation", "These are met as values, not imported."]
    for value in RESULTS:
        parts += [f"### `{value.__name__}`", *_described(value.__name__, value)]
    return "\n\n".join(parts) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        yield f"```text\n{_signature(name, value)}\n```"
        yield from _docstring(value)
        return
    if name in OPENED:
        yield f"```text\n{_signature(name, value)}\n```"
    yield from _docstring(value)
    if fields := [*_fields(value)]:
        yield table(("field", "type", "meaning"), fields)
    methods = [] if dataclasses.is_dataclass(value) else [*_methods(value)]
    if methods:
        yield "\n".join(f"- `{signature}`: {says}" for signature, says in methods)


def _signature(name: str, function: Any) -> str:
    """One parameter a line where the whole does not fit one."""
    signature = inspect.signature(function)
    start = "await " if inspect.iscoroutinefunction(function) else ""
    end = "" if inspect.isclass(function) else f" -> {_annotation(signature.return_annotation)}"
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{parameter.name}: {_annotation(parameter.annotation)}{default}")
    line = f"{start}rubrica.{name}({', '.join(parameters)}){end}"
    if len(line) <= 100:
        return line
    inner = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{start}rubrica.{name}(\n{inner}){end}"


def _docstring(value: Any) -> Iterator[str]:
    """Prose as prose, examples as blocks that the test of this page runs."""
    text = re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(value.__doc__ or ""))
    for paragraph in re.split(r"\n\s*\n", text):
        yield f"```python\n{paragraph}\n```" if paragraph.startswith(">>>") else paragraph


def _fields(value: Any) -> Iterator[tuple[str, str, str]]:
    """Name, type and, where the source has one, the comment beside it."""
    if issubclass(value, BaseModel):
        names: list[str] = list(value.model_fields)
    elif issubclass(value, msgspec.Struct):
        names = [field.name for field in msgspec.structs.fields(value)]
    elif dataclasses.is_dataclass(value):
        every = [field.name for field in dataclasses.fields(value)]
        names = ["rubric", "judge"] if value is rubrica.Plan else every  # a plan's others are the engine's own business
    else:
        return
    comments = dict(re.findall(r"^    (\w+): .*?  # (.+)$", inspect.getsource(value), re.MULTILINE))
    for name in names:
        yield f"`{name}`", f"`{_annotation(value.__annotations__[name])}`", comments.get(name, "")


def _methods(value: Any) -> Iterator[tuple[str, str]]:
    for name, member in list(vars(value).items()):
        inner = getattr(member, "__func__", getattr(member, "fget", getattr(member, "func", member)))
        own = inspect.isfunction(inner) and inner.__module__.startswith("rubrica")
        if not own or (name.startswith("_") and name != "__call__") or not (inner.__doc__ or name == "__call__"):
            continue
        says = " ".join((inner.__doc__ or "").split("\n\n")[0].split())
        if inner is not member and not isinstance(member, classmethod | staticmethod):
            yield name, says
            continue
        given = [p for p in inspect.signature(inner).parameters.values() if p.name not in ("self", "cls")]
        arguments = ", ".join(f"{'**' if p.kind is p.VAR_KEYWORD else ''}{p.name}" for p in given)
        if name == "__call__":
            name = f"{'await ' if inspect.iscoroutinefunction(inner) else ''}{value.__name__.lower()}"
        yield f"{name}({arguments})", says or "what it is asked and answers"


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"^Annotated\[(.+?), (?:Field|StringConstraints)\(.*\)\]", r"\1", text)


# --- commands ---------------------------------------------------------------------------------------------


def command_page() -> str:
    """What ``--help`` says of every command, as tables."""
    parts = [
        "# Commands",
        GENERATED,
        "`rubrica COMMAND --help` says the same in the terminal. Exit codes: 0 fine, 100 a verdict failed, 1 an error, "
        "2 a wrong option, 130 interrupted.",
        table(
            ("command", "what it does"), ((f"[`{name}`](#rubrica-{name})", e.summary) for name, e in COMMANDS.items())
        ),
    ]
    for name in COMMANDS:
        command = get_command(command_module(name).app)
        parts += [f"## rubrica {name}", *_command(command, name)]
        for own, inner in getattr(command, "commands", {}).items():
            parts += [f"### rubrica {name} {own}", *_command(inner, f"{name} {own}")]
    return "\n\n".join(parts) + "\n"


def _command(command: Any, name: str) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    shown = " ".join(_argument(argument) for argument in arguments)
    yield f"```text\nrubrica {name}{f' {shown}' if shown else ''}{' [OPTIONS]' if options else ''}\n```"
    yield inspect.cleandoc(command.help or "")
    rows = [(f"`{_argument(argument)}`", _help(argument)) for argument in arguments]
    rows += [(f"`{_option(option)}`", _help(option)) for option in options]
    if rows:
        yield table(("argument or option", "meaning"), rows)
    if command.epilog:
        yield f"```text\n{_plain(command.epilog)}\n```"


def _argument(argument: Any) -> str:
    name = argument.metavar or (argument.name or "").upper()
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.metavar or option.name.upper()}"


def _help(parameter: Any) -> str:
    """What a parameter means; whether it must be given, or what it is when left out."""
    said = parameter.help or ""
    if parameter.required:
        return f"{said} Required."
    default = parameter.default
    return f"{said} Left out: `{default}`." if isinstance(default, str) and default else said


def _plain(text: str) -> str:
    """An epilog without its markup for the terminal."""
    return re.sub(r"\[/?bold\]", "", inspect.cleandoc(text))
