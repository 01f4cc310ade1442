"""A small world in a temporary folder: files, pages on the loopback network, and the environment in which an example
of a contract is judged. Never writes outside its folder, also not through a link, and shows nothing of the person's
home or environment; what an example's `setup` does is that example's own word, and ends with its world."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from truecall_py.authoring import leftover_processes
from truecall_py.core.errors import UsageError

NOBODY = 1  # a port on which nothing answers
PATIENCE = 30.0  # seconds for one `setup`
COMMIT = "git init -q .; git add -A; git commit -q --allow-empty -m start"
# The outer shell stays until the world ends, so that its process group is surely still ours when it is ended.
KEEPER = 'sh -e -c "$1" >&2 </dev/null; echo $?; read -r end'
GIT = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "main",
    "GIT_CONFIG_KEY_1": "commit.gpgsign", "GIT_CONFIG_VALUE_1": "false",
    "GIT_CONFIG_KEY_2": "advice.detachedHead", "GIT_CONFIG_VALUE_2": "false",
    "GIT_AUTHOR_NAME": "Dev", "GIT_AUTHOR_EMAIL": "dev@example.invalid",
    "GIT_COMMITTER_NAME": "Dev", "GIT_COMMITTER_EMAIL": "dev@example.invalid",
}  # fmt: skip


# In the example's home, where probes find it as well: whatever remote is named, git stays on this machine.
GITCONFIG = '[protocol]\n\tallow = never\n[protocol "file"]\n\tallow = always\n'


class Pages(BaseHTTPRequestHandler):
    """Answers with the pages of its server: path -> [status, headers, body]."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        pages: dict[str, Any] = getattr(self.server, "pages", {})
        page = pages.get(self.path) or pages.get(self.path.partition("?")[0])
        status, headers, body = page or [404, {}, "not found"]
        data = str(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_HEAD = do_GET


class SmallWorld:
    """One world: `folder` (world), `home` beside it, `port` of its server. Close it."""

    def __init__(self, root: str) -> None:
        self.root = root = os.path.realpath(root)
        self.folder, self.home, self.temporary = (os.path.join(root, name) for name in ("world", "home", "tmp"))
        for path in (self.folder, self.home, self.temporary):
            os.mkdir(path)
        with open(os.path.join(self.home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write(GITCONFIG)
        self.port = NOBODY
        self.server: ThreadingHTTPServer | None = None
        self.keepers: list[subprocess.Popen[bytes]] = []

    def close(self) -> None:
        for keeper in self.keepers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(keeper.pid, signal.SIGKILL)
        if self.keepers:
            leftover_processes.end(self.root, self.keepers[0].pid)
        for keeper in self.keepers:
            keeper.wait()
            for stream in (keeper.stdin, keeper.stdout):
                if stream:
                    stream.close()
        self.keepers.clear()
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    # -- what stands in it -----------------------------------------------------------------------------

    def build(self, given: dict[str, Any]) -> None:
        """Builds what an example says, on top of what is there. Raises UsageError."""
        try:
            self.serve(given.get("serve") or {})
            self.lay(given)
            if given.get("repository"):
                self.own_repository()
        except OSError as error:
            raise UsageError(f"the world cannot be built: {error.filename}: {error.strerror}") from None
        except ValueError as error:
            raise UsageError(f"the world cannot be built: {error}") from None
        if given.get("repository"):
            self.script(COMMIT)
        lines = given.get("setup") or []
        if lines:
            self.script(self.filled(lines if isinstance(lines, str) else "\n".join(lines)))

    def lay(self, given: dict[str, Any]) -> None:
        for path in given.get("gone") or ():
            self.remove(path)
        for path in given.get("folders") or ():
            os.makedirs(self.place(path), exist_ok=True)
        for path, target in (given.get("links") or {}).items():
            full = self.place(path)
            if os.path.lexists(full):
                os.unlink(full)
            os.symlink(self.filled(target), full)
        for path, content in (given.get("files") or {}).items():
            self.write(path, self.filled(content).encode("utf-8", "surrogatepass"))
        for path, numbers in (given.get("bytes") or {}).items():
            self.write(path, bytes.fromhex(numbers))
        for path, mode in (given.get("modes") or {}).items():
            os.chmod(self.own(path), int(mode, 8))

    def place(self, path: str) -> str:
        """The absolute path of a name of this world, its folder made. Raises ValueError for one outside."""
        full = os.path.normpath(os.path.join(self.folder, self.filled(path)))
        parent = os.path.dirname(full)
        roots = (self.folder, self.home)
        if not any(is_inside(full, root) and is_inside(os.path.realpath(parent), root) for root in roots):
            raise ValueError(f"{path} lies outside the example's own world")
        os.makedirs(parent, exist_ok=True)
        return full

    def own(self, path: str) -> str:
        """The same, of a name that may be written through. Raises ValueError where it is a link out of this world."""
        full = self.place(path)
        if not any(is_inside(os.path.realpath(full), root) for root in (self.folder, self.home)):
            raise ValueError(f"{path} is a link out of the example's own world")
        return full

    def own_repository(self) -> None:
        """Raises ValueError where git would write elsewhere: a world or a repository that is itself a link, a `.git`
        file that names another folder, or a link out of it."""
        top = os.path.join(self.folder, ".git")
        if os.path.realpath(top) != top or (os.path.lexists(top) and not os.path.isdir(top)):
            raise ValueError(".git is not a folder of the example's own world")
        for folder, folders, files in os.walk(top):
            for name in (*folders, *files):
                self.own(os.path.join(folder, name))

    def write(self, path: str, data: bytes) -> None:
        with open(self.own(path), "wb") as file:
            file.write(data)

    def remove(self, path: str) -> None:
        full = self.place(path)
        if os.path.isdir(full) and not os.path.islink(full):
            shutil.rmtree(full)
        elif os.path.lexists(full):
            os.unlink(full)
        else:
            raise ValueError(f"{path} is to be removed, and is not there")

    def filled(self, text: str) -> str:
        """A text with the placeholders of this world filled in."""
        text = text.replace("@WORLD@", self.folder).replace("@HOME@", self.home)
        return text.replace("@PORT@", str(self.port))

    def filled_in(self, value: Any) -> Any:
        """The same, in every text of a value."""
        if isinstance(value, str):
            return self.filled(value)
        if isinstance(value, dict):
            return {self.filled(key): self.filled_in(item) for key, item in value.items()}
        return [self.filled_in(item) for item in value] if isinstance(value, list) else value

    def unfilled(self, text: str) -> str:
        """A text with the world's own paths as placeholders, for people."""
        return text.replace(self.folder, "@WORLD@").replace(self.home, "@HOME@")

    # -- what runs in it -------------------------------------------------------------------------------

    def listen(self) -> None:
        """Starts the server, so that its port is known; it has no page yet."""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        serve = self.server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def serve(self, pages: dict[str, Any]) -> None:
        """Serves these pages as well."""
        if not pages:
            return
        if self.server is None:
            self.listen()
        known: dict[str, Any] = getattr(self.server, "pages", {})
        self.server.pages = {**known, **self.filled_in(pages)}  # type: ignore[union-attr]

    def script(self, lines: str) -> None:
        """Runs lines of sh in the world's folder. What they leave running goes on until the world is closed. Raises
        UsageError where they did not end well, OSError or ValueError where they cannot be run."""
        with tempfile.TemporaryFile() as log:  # nameless: a line may remove or replace any file of the world
            keeper = subprocess.Popen(  # noqa: S603 - the example's own lines: whoever runs `truecall test` asked for it
                ["/bin/sh", "-c", KEEPER, "sh", lines],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                cwd=self.folder, env=self.environment(), start_new_session=True,
            )  # fmt: skip
            self.keepers.append(keeper)
            assert keeper.stdout is not None
            if not select.select([keeper.stdout], [], [], PATIENCE)[0]:
                raise UsageError(f"`setup` did not end within {PATIENCE:g} s")
            code = keeper.stdout.readline().strip().decode() or "unknown (it ended its own shell)"
            if code != "0":
                words = os.pread(log.fileno(), 4000, 0).decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise UsageError(f"`setup` ended with exit code {code}{': ' if words else ''}{words}")

    def environment(self) -> dict[str, str]:
        """Nothing of the person's environment but where programs are found."""
        return {
            "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
            "HOME": self.home,
            "XDG_CONFIG_HOME": os.path.join(self.home, ".config"),
            "XDG_STATE_HOME": os.path.join(self.home, ".local", "state"),
            "XDG_CACHE_HOME": os.path.join(self.home, ".cache"),
            "TMPDIR": self.temporary,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            leftover_processes.MARK: self.root,
            **GIT,
            "GIT_CEILING_DIRECTORIES": os.path.dirname(self.folder),
        }

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """This process in this world: its environment and its folder, and the person's own again afterwards."""
        kept, here = dict(os.environ), os.open(".", os.O_RDONLY)
        try:
            own = self.environment()
            os.environ.clear()
            os.environ.update(own)
            os.chdir(self.folder)
            yield
        finally:
            os.environ.clear()
            os.environ.update(kept)
            os.chdir(here)
            os.close(here)


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")
