"""Fixtures of every server test: `server` and `full_server`, the real application on a loopback port."""

from __future__ import annotations

from servers import full_server, server

__all__ = ["full_server", "server"]
