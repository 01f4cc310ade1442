"""The real coding agents, in pinned versions from the npm registry, kept in a cache folder.

    path = client("@openai/codex", "0.171.0", "codex")

The cache is $TRUECALL_E2E_CACHE or ~/.cache/truecall-e2e. Where a client cannot be had the test is skipped, and
the end of the run says why; where CI is true it fails instead.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile

import pytest

CACHE = os.environ.get("TRUECALL_E2E_CACHE") or os.path.expanduser("~/.cache/truecall-e2e")
PATIENCE = 600  # seconds for one download
missing: dict[tuple[str, str], str] = {}  # what could not be had, and why: asked for once in a run


class Unavailable(Exception):
    pass


def client(package: str, version: str, binary: str) -> str:
    """The path of one client's program, installed if need be. Skips the test (in CI: fails it) without it."""
    key = package, version
    if key not in missing:
        try:
            return installed(package, version, binary)
        except Unavailable as problem:
            missing[key] = str(problem)
    reason = f"NOT TESTED with {package} {version}: {missing[key]}"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def installed(package: str, version: str, binary: str) -> str:
    """As `client`, and outside of pytest. Raises Unavailable."""
    folder = os.path.join(CACHE, f"{package.replace('/', '_')}-{version}")
    os.makedirs(CACHE, exist_ok=True)
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            install(f"{package}@{version}", folder)
    return program(folder, binary)


def install(what: str, folder: str) -> None:
    """Installs beside the folder and moves it there at the end, so that it is whole or not there at all."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    # --ignore-scripts: a package's own install script only puts its native program elsewhere.
    argv = [npm, "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
    with tempfile.TemporaryDirectory(prefix=".new-", dir=CACHE) as parent:
        new = os.path.join(parent, "client")
        os.mkdir(new)
        try:
            done = subprocess.run(
                [*argv, "--prefix", new, what], cwd=new, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=PATIENCE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unavailable(f"npm did not get it within {PATIENCE} seconds") from None
        if done.returncode:
            raise Unavailable("npm could not install it: " + " | ".join(done.stderr.strip().splitlines()[:3]))
        os.rename(new, folder)


def program(folder: str, binary: str) -> str:
    """The native program where the package holds one (a launcher in JavaScript would only start it), else the
    script that npm names."""
    for parent, folders, files in os.walk(os.path.join(folder, "node_modules")):
        folders.sort()
        path = os.path.join(parent, binary)
        if binary in files and not os.path.islink(path) and os.access(path, os.X_OK):
            with open(path, "rb") as file:
                if file.read(2) != b"#!":
                    return path
    path = os.path.join(folder, "node_modules", ".bin", binary)
    if not os.path.exists(path):
        raise Unavailable(f"it holds no program {binary}")
    return path
