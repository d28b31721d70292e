"""The arguments of an agent's calls: what no tool takes is refused, in plain words, before anybody is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from rubrica.errors import Problem
from rubrica.hints import did_you_mean
from rubrica.phrases import fault_path, fault_words


class CheckedTool(Tool):
    """A tool that takes no argument it does not know: a typo would be a session that was not asked for."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        problems = [*self._unknown(arguments), *self._faults(arguments)]
        if problems:
            raise ToolError("\n".join(map(str, problems)))
        return await super().run(arguments, context, convert_result)

    def _unknown(self, arguments: dict[str, Any]) -> list[Problem]:
        known = self.fn_metadata.arg_model.model_fields
        listed = f"it takes {', '.join(known)}" if known else "it takes none"
        return [
            Problem(f"{self.name} has no such argument", (name,), fix=did_you_mean(name, known, listed))
            for name in arguments
            if name not in known
        ]

    def _faults(self, arguments: dict[str, Any]) -> list[Problem]:
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            return [Problem(fault_words(fault), fault_path(dict(fault), arguments)) for fault in error.errors()]
        return []


def offered_tool(call: Callable[..., Any], title: str, description: str, annotations: ToolAnnotations) -> Tool:
    """A function as a tool, with a schema that tells agents what it takes, and that it takes no more."""
    tool = CheckedTool.from_function(call, title=title, description=description, annotations=annotations)
    tool.parameters["additionalProperties"] = False
    return tool
