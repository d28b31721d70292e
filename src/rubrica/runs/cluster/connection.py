"""Opening a Ray cluster: one on this machine, or one that is there already."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rubrica.errors import RubricaError
from rubrica.extras import requires

LOCAL = "local"
PATIENCE = 5.0
"""Seconds that a head may take to accept a connection."""
ATTEMPTS = 3
"""A head that has just started turns the first client away now and then."""

SILENT = "connection timeout"
"""What Ray says after half a minute without an answer, which would be no other the next time."""
IS_IT_THERE = "is it started, and is that its port? A client server has 10001 unless told otherwise"


class ClusterError(RubricaError):
    """A cluster cannot be reached, or cannot judge."""


def check_address(address: str) -> None:
    """Refuse what names no cluster.

    >>> check_address("head:10001")
    Traceback (most recent call last):
    rubrica.runs.cluster.connection.ClusterError: 'head:10001' names no cluster (local, auto, or ray://HOST:10001)
    """
    parts = urlsplit(address)
    if address in (LOCAL, "auto") or (parts.scheme == "ray" and parts.hostname):
        return
    raise ClusterError(f"{address!r} names no cluster (local, auto, or ray://HOST:10001)")


@contextmanager
def connected(address: str, processors: int) -> Iterator[Any]:
    """The cluster, as the ray module, for as long as it is used. `local` starts one here and ends it."""
    check_address(address)
    _quiet()
    with requires("cluster", f"--cluster {address}"):
        import ray
        from ray._private import ray_constants, services
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        options |= {"num_cpus": processors, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        with _alone(ray_constants):
            _open(ray, address, options)
    else:
        _reach(address if address != "auto" else _joined(services))
        _use_token()
        _open(ray, address, options)
    try:
        yield ray
    finally:
        with suppress(Exception):  # it may be gone, and is left either way
            ray.shutdown()


def _quiet() -> None:
    """Keep from the output what Ray says in between: a run tells at its end what was lost, and what is wrong."""
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^A worker died or was killed")
    for said in ("More than 10MB of messages", "Ray Client connection timed out"):
        warnings.filterwarnings("ignore", said, UserWarning)


@contextmanager
def _alone(constants: Any) -> Iterator[None]:
    """Ray turns 127.0.0.1 into the address that other machines see, and listens on all of them, unless there are to be
    no clusters of several machines."""
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _open(ray: Any, address: str, options: dict[str, Any]) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with redirect_stdout(StringIO()):
                ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
            with suppress(Exception):
                ray.shutdown()
            message = (str(error).strip().splitlines() or [type(error).__name__])[0]
            if attempt == ATTEMPTS or SILENT in message:
                hint = "" if address in (LOCAL, "auto") else f" ({IS_IT_THERE})"
                raise ClusterError(f"the cluster {address} cannot be used: {message}{hint}") from error
        else:
            return


def _joined(services: Any) -> str:
    """Where the cluster of this machine's node is. Ray looks for minutes for one that has ended."""
    if "://" in os.environ.get("RAY_ADDRESS", ""):
        return ""
    try:
        place = services.canonicalize_bootstrap_address("auto")
    except (ConnectionError, ValueError):
        place = None
    if not place:
        raise ClusterError("this machine belongs to no cluster (`ray start` joins one; or --cluster ray://HOST:10001)")
    return f"ray://{place}"


def _reach(address: str) -> None:
    """Ray waits for minutes for a head that is not there."""
    parts = urlsplit(address)
    if parts.scheme != "ray":
        return
    try:
        socket.create_connection((parts.hostname or "", parts.port or 10001), PATIENCE).close()
    except OSError as error:
        message = error.strerror or str(error)
        raise ClusterError(f"the cluster {address} cannot be reached: {message} ({IS_IT_THERE})") from None


def token_hint() -> str:
    """What else may be wrong where no worker begins, if this process sends tokens."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        return ""
    return "; a cluster that was started without tokens wants RAY_AUTH_MODE=disabled here"


def _use_token() -> None:
    """A cluster that wants a token gets the one that is set up here; Ray sends it only when told to."""
    there = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    if there or (Path.home() / ".ray" / "auth_token").is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
