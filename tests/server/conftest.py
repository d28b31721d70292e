"""Fixtures of every server test: the real application on a loopback port, fresh or shared by a module."""

from __future__ import annotations

from servers import full_server, server, shared_server

__all__ = ["full_server", "server", "shared_server"]
