"""``rubrica`` as a process that starts in no time: `rubrica_command` in place of ``[sys.executable, "-m", "rubrica"]``.

One process of this test session has loaded the program. The command is a small one that hands its arguments,
environment, folder, input and output to that process, which forks. It passes signals on, and ends as the fork does;
when it is killed, so is the fork.
"""

from __future__ import annotations

import array
import json
import os
import resource
import selectors
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

LOADED = """
    asyncpg mcp nicegui polars rubrica.cli.curriculum rubrica.cli.gateway rubrica.cli.mcp rubrica.cli.run
    rubrica.cli.serve rubrica.llm.anthropic rubrica.llm.http rubrica.llm.openai rubrica.runs.jury_session
    rubrica.server.app rubrica.studio.mount sqlalchemy.dialects.sqlite uvicorn.protocols.http.httptools_impl
"""
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
LONGEST = 1 << 20  # bytes of a request
_started: list[str] = []


def rubrica_command(*args: object) -> list[str]:
    """The command line of ``rubrica ARGS``."""
    return [sys.executable, "-I", "-S", __file__, _address(), *map(str, args)]


def rubrica_script(folder: str) -> None:
    """Write a script ``rubrica`` into a folder, which is to come first in a PATH."""
    script = os.path.join(folder, "rubrica")  # noqa: PTH118 - as above
    with open(script, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f'#!/bin/sh\nexec {" ".join(rubrica_command())} "$@"\n')
    os.chmod(script, 0o700)  # noqa: PTH101


def _address() -> str:
    """Where the process that has loaded the program listens; it is started on first use, and ends with this one."""
    if not _started:
        import atexit
        import subprocess

        address = f"rubrica-tests-{os.getpid()}-{os.urandom(8).hex()}"
        alive, ours = os.pipe()  # it ends when nobody holds our end
        command = [sys.executable, __file__, "--load", address]
        process = subprocess.Popen(command, stdin=alive, stdout=subprocess.DEVNULL, start_new_session=True)
        os.close(alive)
        atexit.register(process.wait)
        atexit.register(os.close, ours)
        _started.append(address)
    return _started[0]


def launch(address: str, args: list[str]) -> int:
    """Have the command run by a fork, and wait for its exit code."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        _connect(line, address)
        limits = [(kind, resource.getrlimit(kind)) for kind in LIMITS]
        folder = os.getcwd()  # noqa: PTH109 - pathlib takes a while to load
        request = json.dumps({"args": args, "env": dict(os.environ), "cwd": folder, "limits": limits}).encode()
        descriptors = array.array("i", [0, 1, 2])
        size = len(request).to_bytes(4, "big")
        line.sendmsg([size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        line.sendall(request)
        for number in PASSED_ON:
            signal.signal(number, lambda number, _frame: line.sendall(bytes([number])))
        for descriptor in (0, 1, 2):  # whoever waits for the end of what is printed waits for the fork alone
            os.close(descriptor)
        return int.from_bytes(line.recv(2) or b"\x00\x01", "big", signed=True)


def _connect(line: socket.socket, address: str) -> None:
    import time

    for _ in range(3_000):  # it may be loading still
        with suppress(ConnectionRefusedError):
            return line.connect("\0" + address)  # a name without a file
        time.sleep(0.02)
    raise SystemExit("the process that has loaded rubrica does not listen")


def load_and_listen(address: str) -> None:
    """Load the program, then fork for each command that is asked for, until standard input ends."""
    import importlib

    for name in LOADED.split():
        importlib.import_module(name)
    selector = selectors.DefaultSelector()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind("\0" + address)
    listener.listen(64)
    gone, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}  # by process
    for end in (0, listener, gone):
        selector.register(end, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj == 0:
                return
            if key.fileobj is listener:
                line, _ = listener.accept()
                others = [each.fileno() for each in running.values()]
                running[_fork(line, [gone, told, listener.fileno(), *others])] = line
                selector.register(line, selectors.EVENT_READ)
            elif key.fileobj == gone:
                os.read(gone, 4_096)
            else:
                _pass_on(running, key.fileobj)
        _tell_ends(running, selector)


def _fork(line: socket.socket, closed: list[int]) -> int:
    """A fork that runs the command somebody asks for."""
    head, descriptors, _, _ = socket.recv_fds(line, 4, 3)
    wanted, request = int.from_bytes(head, "big"), b""
    while len(request) < wanted:
        request += line.recv(min(LONGEST, wanted - len(request)))
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (*closed, line.fileno()):
            os.close(each)
        _become(json.loads(request), descriptors)
    for each in descriptors:
        os.close(each)
    return pid


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Run the command in this process as if it had been started for it, and end."""
    import atexit
    import io
    import threading
    import traceback

    for target, each in enumerate(descriptors):
        os.dup2(each, target)
    for each in descriptors:
        if each > 2:
            os.close(each)
    for kind, limit in request["limits"]:
        resource.setrlimit(kind, tuple(limit))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["rubrica", *request["args"]]
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)  # noqa: SIM115
    code = 1
    try:
        from rubrica.cli.app import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _pass_on(running: dict[int, socket.socket], line: object) -> None:
    """Send the signals that a command got; kill what belongs to one that is gone."""
    pid = next((pid for pid, own in running.items() if own is line), None)
    if pid is None:
        return
    with suppress(ProcessLookupError):
        for number in running[pid].recv(64) or [signal.SIGKILL]:
            os.kill(pid, number)


def _tell_ends(running: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    """Tell the commands whose forks have ended."""
    while running:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        line = running.pop(pid)
        selector.unregister(line)
        with suppress(OSError):
            line.sendall(os.waitstatus_to_exitcode(status).to_bytes(2, "big", signed=True))
        line.close()


if __name__ == "__main__":
    if sys.argv[1] == "--load":
        load_and_listen(sys.argv[2])
        sys.exit(0)
    ended = launch(sys.argv[1], sys.argv[2:])
    if ended < 0:  # by a signal: so does this
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    sys.exit(ended)
