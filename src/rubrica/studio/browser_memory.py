"""What a visitor's own browser remembers for a page: unsaved changes, and a sample that was typed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from nicegui import Client, ui

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json

MOST_KEPT = 400_000
"""Bytes of what is kept: a page takes no longer messages than it needs."""
ANSWER = 30
"""Seconds in which a browser answers."""


@dataclass(frozen=True, slots=True)
class BrowserMemory:
    """A place in the browser: of this tab alone (`sessionStorage`), or until it is taken out (`localStorage`)."""

    key: str
    area: Literal["localStorage", "sessionStorage"] = "sessionStorage"

    def keep(self, client: Client, value: Any) -> None:
        """Leave plain data there; what is too long is not kept, and what was there before neither."""
        text = json.dumps(value, ensure_ascii=False)
        if len(text.encode(errors="replace")) > MOST_KEPT:
            self.forget(client)
            return
        script = f"{self.area}.setItem({json.dumps(self.key)}, {json.dumps(text)})"
        client.run_javascript(f"try {{ {script} }} catch (error) {{ console.warn(error) }}")

    def forget(self, client: Client) -> None:
        """Take it out."""
        client.run_javascript(f"{self.area}.removeItem({json.dumps(self.key)})")

    async def read(self) -> Any:
        """What is there, for a page that is connected; None where there is nothing, or the browser does not answer."""
        try:
            found = await ui.run_javascript(f"return {self.area}.getItem({json.dumps(self.key)})", timeout=ANSWER)
            return decode_json(found) if isinstance(found, str) and len(found) <= MOST_KEPT else None
        except (TimeoutError, JsonError):
            return None


def sample_memory(user: object) -> BrowserMemory:
    """Where the sample that somebody typed last stays: builder and sandbox share it."""
    return BrowserMemory(f"rubrica-sample:{user}")
