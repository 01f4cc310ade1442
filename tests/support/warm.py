"""Runs commands of `truecall` in a process each, forked from one that has loaded the libraries already.

Each command is a real process with its own environment, folder and streams, and loads truecall's own code anew; only the
start of Python and of click, rich, yaml and jsonschema is shared, which took most of the time of a test. What depends on
that start (Python's own variables, a terminal, input by a pipe) is run by `subprocess` instead.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any

LIBRARIES = ("click", "jsonschema", "jsonschema_specifications", "rich.console", "rich.table", "tomlkit", "yaml")
OWN = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")  # variables of Python that a command may have


class Server:
    """A process that forks one command after the other. Started with the first command; ends with this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner = 0
        self.socket: socket.socket
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        """Starts the process, once in each process that uses it: the tests of a mutant run in a fork."""
        self.socket, theirs = socket.socketpair()
        with theirs:
            argv = [sys.executable, os.path.abspath(__file__), str(theirs.fileno())]
            self.process = subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.owner = os.getpid()

    def run(
        self, argv: list[str], cwd: str, env: dict[str, str], seconds: float
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """How `truecall ARGV` ends in this folder and environment, without input.

        Raises subprocess.TimeoutExpired after `seconds`; the command is killed then.
        """
        if self.owner != os.getpid():
            self.start()
        with open(os.devnull, "rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            request = json.dumps([argv, os.fspath(cwd), env]).encode()
            socket.send_fds(self.socket, [len(request).to_bytes(4, "big")], [f.fileno() for f in (nothing, out, error)])
            self.socket.sendall(request)
            child = self.read_number()
            timer = threading.Timer(seconds, os.kill, (child, signal.SIGKILL))
            timer.start()
            code = os.waitstatus_to_exitcode(self.read_number())
            if code == -signal.SIGKILL and timer.finished.is_set():
                raise subprocess.TimeoutExpired(argv, seconds)
            timer.cancel()
            texts = []
            for stream in (out, error):
                stream.seek(0)
                texts.append(stream.read().decode())
        return subprocess.CompletedProcess(argv, code, *texts)

    def read_number(self) -> int:
        return int.from_bytes(read_exactly(self.socket, 4), "big")


SERVER = Server()


def run_command(
    argv: list[str], cwd: str, env: dict[str, str], seconds: float, **more: Any
) -> subprocess.CompletedProcess[str]:
    """`truecall ARGV` as a process: forked where that is the same, else started. `more` is for subprocess.run."""
    plain = not any(name.startswith("PYTHON") and name not in OWN or name in ("TZ", "LC_ALL") for name in env)
    if plain and not more and os.path.isdir(cwd) and SERVER.lock.acquire(blocking=False):
        try:
            return SERVER.run(argv, cwd, env, seconds)
        finally:
            SERVER.lock.release()
    return subprocess.run(
        [sys.executable, "-m", "truecall_py", *argv], check=False, capture_output=True, text=True,
        **{"cwd": cwd, "env": env, "timeout": seconds, "stdin": subprocess.DEVNULL, **more},
    )  # fmt: skip


def read_exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError("the process at the other end is gone")
        data += piece
    return data


def serve(connection: socket.socket) -> None:
    """Forks a command for each request. Returns in the child; ends when the other end is closed."""
    for name in LIBRARIES:
        __import__(name)
    while True:
        head, fds, _, _ = socket.recv_fds(connection, 4, 3)
        if not head:
            os._exit(0)
        argv, cwd, env = json.loads(read_exactly(connection, int.from_bytes(head, "big")))
        child = os.fork()
        if not child:
            connection.close()
            for number, fd in enumerate(fds):
                os.dup2(fd, number)
                os.close(fd)
            os.environ.clear()
            os.environ.update(env)
            os.chdir(cwd)
            sys.argv[1:] = argv
            sys.path[0:1] = [cwd, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
            return
        for fd in fds:
            os.close(fd)
        connection.sendall(child.to_bytes(4, "big"))
        connection.sendall(os.waitpid(child, 0)[1].to_bytes(4, "big"))


if __name__ == "__main__":
    import runpy

    serve(socket.socket(fileno=int(sys.argv.pop(1))))
    runpy.run_module("truecall_py", run_name="__main__", alter_sys=True)
