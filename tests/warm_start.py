"""``rubrica`` as a process that starts in no time: `rubrica_command` in place of ``[sys.executable, "-m", "rubrica"]``.

One process has loaded the program, for all processes of this test session. The command is a small one that hands its
arguments, environment, folder, input and output to that process, which forks. It passes signals on, and ends as the
fork does; when it is killed, so is the fork. `ask_for` has a fork without such a command.
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
HOLDS = bytes(4)  # in place of a request's size: from a process of the session, which stays connected until it ends
ABANDONED = 60.0  # seconds without any of them
_held: list[tuple[str, socket.socket]] = []
_processes: list[Any] = []  # those that were started here


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
    """Where the process that has loaded the program listens; whoever needs it first starts it."""
    if not _held:
        session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}-{os.urandom(8).hex()}"
        address = f"rubrica-tests-{session}"
        _held.append((address, _hold(address)))
    return _held[0][0]


def _hold(address: str) -> socket.socket:
    """A connection to the process that listens there, once it has loaded the program; it ends with the last of them."""
    import atexit
    import subprocess
    import time

    while True:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with suppress(ConnectionError):
            line.connect("\0" + address)  # a name without a file
            line.sendall(HOLDS)
            if line.recv(1):
                atexit.register(line.close)
                return line
        line.close()  # it does not listen yet, or has just ended
        ended = _processes[-1].poll() if _processes else 0
        if ended == 0:  # none yet, or another process of the session was quicker to start one
            command = [sys.executable, __file__, "--load", address]
            nothing = subprocess.DEVNULL
            _processes.append(subprocess.Popen(command, stdin=nothing, stdout=nothing, start_new_session=True))
            atexit.register(_processes[-1].wait)  # once the connection is closed, and those of others
        elif ended is not None:
            raise RuntimeError(f"the process that loads rubrica has ended with {ended}")
        time.sleep(0.02)


def launch(address: str, args: list[str]) -> int:
    """Have the command run by a fork, and wait for its exit code."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect("\0" + address)
        _ask(line, args, dict(os.environ), (0, 1, 2))
        for number in PASSED_ON:
            signal.signal(number, lambda number, _frame: line.sendall(bytes([number])))
        for descriptor in (0, 1, 2):  # whoever waits for the end of what is printed waits for the fork alone
            os.close(descriptor)
        return exit_code(line)


def ask_for(args: list[str], env: dict[str, str], descriptors: tuple[int, int, int]) -> socket.socket:
    """Have ``rubrica ARGS`` run by a fork. It gets the signals whose numbers are sent; at its end comes `exit_code`."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect("\0" + _address())
    _ask(line, args, env, descriptors)
    return line


def exit_code(line: socket.socket) -> int:
    """Wait for the end of a fork; its exit code, or minus the number of the signal that ended it."""
    return int.from_bytes(line.recv(2) or b"\x00\x01", "big", signed=True)


def _ask(line: socket.socket, args: list[str], env: dict[str, str], descriptors: tuple[int, int, int]) -> None:
    limits = [(kind, resource.getrlimit(kind)) for kind in LIMITS]
    folder = os.getcwd()  # noqa: PTH109 - pathlib takes a while to load
    request = json.dumps({"args": args, "env": env, "cwd": folder, "limits": limits}).encode()
    size = len(request).to_bytes(4, "big")
    line.sendmsg([size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])
    line.sendall(request)


def load_and_listen(address: str) -> None:
    """Load the program, then fork for each command that is asked for, until no process of the session is left."""
    import importlib

    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind("\0" + address)
    except OSError:  # another process of the session was quicker
        return
    listener.listen(64)
    for name in LOADED.split():
        importlib.import_module(name)
    selector = selectors.DefaultSelector()
    gone, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}  # by process
    holding: list[socket.socket] = []
    for end in (listener, gone):
        selector.register(end, selectors.EVENT_READ)
    while ready := selector.select(None if holding else ABANDONED):
        for key, _ in ready:
            if key.fileobj is listener:
                line, _ = listener.accept()
                ours = [gone, told, listener.fileno(), *(each.fileno() for each in (*holding, *running.values()))]
                if _is_taken(line, ours, running, holding):
                    selector.register(line, selectors.EVENT_READ)
            elif key.fileobj == gone:
                os.read(gone, 4_096)
            elif key.fileobj in holding:
                selector.unregister(key.fileobj)
                holding.remove(key.fileobj)
                if not holding:
                    return
            else:
                _pass_on(running, key.fileobj)
        _tell_ends(running, selector)


def _is_taken(
    line: socket.socket, ours: list[int], running: dict[int, socket.socket], holding: list[socket.socket]
) -> bool:
    """Do what a connection is for: hold this process, or have a command run. False: whoever made it is gone."""
    head, descriptors, _, _ = socket.recv_fds(line, 4, 3)
    wanted, request = int.from_bytes(head, "big"), b""
    while len(request) < wanted and (more := line.recv(min(LONGEST, wanted - len(request)))):
        request += more
    if head == HOLDS:
        holding.append(line)
        line.sendall(b"!")
        return True
    if request and len(request) == wanted:
        running[_fork(line, request, descriptors, ours)] = line
        return True
    for each in (*descriptors, line.detach()):
        os.close(each)
    return False


def _fork(line: socket.socket, request: bytes, descriptors: list[int], closed: list[int]) -> int:
    """A fork that runs the command somebody asks for."""
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
