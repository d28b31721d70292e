"""A Ray cluster of two nodes on 127.0.0.1, in a process of its own: ``python cluster_nodes.py PORT``.

It prints its address once it is up, and takes orders by line: `lose` kills a node as if its machine vanished, `add`
brings another one. It ends when there is nothing more to read.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "1",  # seconds that the workers of a killed driver keep their places
    "RAY_worker_niceness": "0",  # 15 otherwise: beside other tests, a worker would get next to no time
}
STORE = 80_000_000  # bytes of a node's object store


def serve(port: int) -> None:
    from ray.cluster_utils import Cluster

    node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
    head = {**node, "ray_client_server_port": port, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    others = [cluster.add_node(**node)]
    cluster.wait_for_nodes()
    print(f"ray://127.0.0.1:{port}", flush=True)
    for line in sys.stdin:
        if line.strip() == "lose" and others:
            cluster.remove_node(others.pop(), allow_graceful=False)
        elif line.strip() == "add":
            others.append(cluster.add_node(**node))
        print("done", flush=True)
    cluster.shutdown()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class ClusterNodes:
    """The cluster from outside."""

    address: str
    process: subprocess.Popen[str]

    def order(self, what: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@contextmanager
def cluster_nodes() -> Iterator[ClusterNodes]:
    port = next(port for port in range(24_001, 29_999, 37) if _is_free(port))  # not among those of Ray's own workers
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as place:
        yield from _started(port, {**os.environ, **ENVIRONMENT, "RAY_TMPDIR": place})  # a socket's path has to be short


def _started(port: int, env: dict[str, str]) -> Iterator[ClusterNodes]:
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("ray://"), "the cluster did not start"
        yield ClusterNodes(address, process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) != 0


if __name__ == "__main__":
    serve(int(sys.argv[1]))
