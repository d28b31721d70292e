"""A question to a model that is no judgement: fenced material, a reply of a given shape, one chance to repair it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Generic, Literal, TypeVar

from rubrica.errors import RubricaError
from rubrica.judges.exchange import AskingTerms, ExchangeCost
from rubrica.judges.fence import Fence, JudgedTexts, TokenSource
from rubrica.judges.prompt import Template, read_template
from rubrica.judges.reply import answers
from rubrica.judges.shape import Shape, skeleton
from rubrica.llm.model import ChatMessage, ModelError, Reply, Request
from rubrica.model.evaluation import Cost

PromptName = Literal["lint", "draft", "repair"]
Found = TypeVar("Found")


class UnusableReplyError(RubricaError):
    """What a model replied cannot be used; says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class StructuredQuestion(Generic[Found]):
    """What is asked. `read` makes something of the reply's object, or raises UnusableReplyError with the reason."""

    prompt: PromptName
    material: tuple[tuple[str, str], ...]  # a label and its text each; others wrote them
    shape: Shape
    read: Callable[[Mapping[str, Any]], Found]
    values: Mapping[str, str] = field(default_factory=dict)  # what else the prompt has a place for; our own words


@dataclass(frozen=True, slots=True)
class StructuredAnswer(Generic[Found]):
    """What came of a question: what was read, or why nothing was."""

    found: Found | None
    problem: str
    cost: Cost | None


@cache
def authoring_template(name: PromptName) -> Template:
    return read_template(resources.files("rubrica.authoring") / "prompts", name)


async def ask_structured(
    question: StructuredQuestion[Found], terms: AskingTerms, token: TokenSource
) -> StructuredAnswer[Found]:
    """Ask, and ask once more with what was wrong where the reply cannot be used. Raises nothing but cancellation."""
    texts = tuple(text for _, text in question.material)
    fence = Fence.for_texts(texts, token)
    material = "\n\n".join(fence.around(label, text) for label, text in question.material if text)
    shape = skeleton(question.shape)
    system, user = authoring_template(question.prompt).fill(
        {**question.values, "token": fence.token, "material": material, "shape": shape}
    )
    messages = [ChatMessage("system", system), ChatMessage("user", user)]
    bill, problem = ExchangeCost(), ""
    for _ in range(2):
        request = Request(tuple(messages), question.shape, question.prompt, max_tokens=terms.max_tokens)
        try:
            reply = await terms.model(request)
        except ModelError as error:
            return StructuredAnswer(None, str(error), bill.split(1)[0])
        bill.add(reply, terms.model.name, terms.price)
        try:
            return StructuredAnswer(_read(question, reply, fence, JudgedTexts(texts)), "", bill.split(1)[0])
        except UnusableReplyError as error:
            problem = str(error)
        terms.forget(request)
        if reply.stop in ("refusal", "length"):
            break
        _, again = authoring_template("repair").fill({"problem": problem, "shape": shape})
        messages += [ChatMessage("assistant", reply.text.strip() or "(no text)"), ChatMessage("user", again)]
    return StructuredAnswer(None, problem, bill.split(1)[0])


def _read(question: StructuredQuestion[Found], reply: Reply, fence: Fence, quoted: JudgedTexts) -> Found:
    if reply.stop == "refusal":
        raise UnusableReplyError("the model refused")
    if reply.stop == "length":
        raise UnusableReplyError(f"the reply was cut off after {reply.usage.output_tokens:,} tokens")
    problem = "it holds no JSON object of the form that was asked for"
    for candidate in answers(fence.cut(reply.text), quoted):
        try:
            return question.read(candidate)
        except UnusableReplyError as error:
            problem = str(error)
    raise UnusableReplyError(problem)
