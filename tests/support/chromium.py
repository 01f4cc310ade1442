"""A real Chromium for the tests of what people look at, spoken to in its DevTools protocol over two pipes: no port, no
library. It is the one on the PATH, else Debian's, installed on the spot.

    with browser.running() as page:
        page.open("file:///…"); page.size(360); page.value("document.title"); page.picture("x.png")

Where none can be had the test is skipped; where CI is true it fails instead.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
PACKAGES = ("chromium-headless-shell", "chromium")  # of Debian, the small one first
PATIENCE = 120  # seconds for one answer of a browser on a busy machine
missing: list[str] = []  # why there is none: asked for once in a run


def program() -> str:
    """The path of a Chromium, installed if need be. Skips the test (in CI: fails it) without one."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and not missing:
        missing.append(install())
        found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is not None:
        return found
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(f"no Chromium: {missing[0]}", pytrace=False)
    pytest.skip(f"no Chromium: {missing[0]}")


def install() -> str:
    """Installs Debian's; why that did not work, "" where it did."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid():
        return "none is on the PATH, and nothing here may install Debian's package"
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    why = ""
    for argv in (
        ["update", "-qq"],
        *(["install", "-y", "-qq", "--no-install-recommends", name, "fonts-dejavu-core"] for name in PACKAGES),
    ):
        done = subprocess.run(
            [apt, *argv], capture_output=True, text=True, timeout=900, env=env, stdin=subprocess.DEVNULL, check=False
        )
        if not done.returncode and argv[0] == "install":
            return ""
        why = f"apt-get {argv[0]}: {done.stderr.strip()[-300:]}"
    return why


class Page:
    """One page of a running browser. `seen` are all events that it told of, in order."""

    def __init__(self, send: int, receive: int) -> None:
        self.send, self.receive = send, receive
        self.rest, self.number, self.session = b"", 0, ""
        self.seen: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to one command. Raises AssertionError where it is an error."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.send, data) :]
        while True:
            answer = self.message()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, (method, answer)
                return dict(answer["result"])

    def message(self) -> dict[str, Any]:
        """The next message; events are kept."""
        ends = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.receive], [], [], max(0.0, ends - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self.receive, 1 << 20)
            assert data, "the browser has ended"
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        if "method" in found:
            self.seen.append(found)
        return found

    def open(self, address: str) -> None:
        """Goes there, and waits until all of it is loaded."""
        start = len(self.seen)
        self.ask("Page.navigate", url=address)
        while not any(each["method"] == "Page.loadEventFired" for each in self.seen[start:]):
            self.message()

    def size(self, width: int, height: int = 900, phone: bool = False) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def media(self, scheme: str = "light", medium: str = "") -> None:
        """The colours that a person prefers, and screen or print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=medium, features=features)

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript comes to. The page's own policy does not hold for it."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def settled(self) -> None:
        """Waits until what was changed is drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def picture(self, path: str, whole: bool = True) -> None:
        """Writes a PNG of the page, or of what is seen of it."""
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(found["data"]))

    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [
            each["params"]["request"]["url"] for each in self.seen if each["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """What stands in the console: messages, exceptions, and what the browser itself says."""
        names = (
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        )
        return [json.dumps(each)[:500] for each in self.seen if each["method"] in names]


@contextlib.contextmanager
def running() -> Iterator[Page]:
    """A browser of its own, with a profile of its own, that ends with the block."""
    path = program()
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    theirs = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 20) for descriptor in (to_browser, from_browser)]
    os.close(to_browser)
    os.close(from_browser)
    # A small Python puts the pipes where Chromium looks for them.
    code = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
    with tempfile.TemporaryDirectory(prefix="truecall-browser-", ignore_cleanup_errors=True) as profile:
        argv = [
            sys.executable, "-c", code, *map(str, theirs), path, "--headless", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-extensions",
            "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
            f"--user-data-dir={profile}", "about:blank",
        ]  # fmt: skip
        with open(os.path.join(profile, "words"), "wb") as words:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=words, stderr=words, pass_fds=theirs, start_new_session=True
            )
        for descriptor in theirs:
            os.close(descriptor)
        try:
            yield Page(from_us, to_us)
        finally:
            os.close(from_us)
            os.close(to_us)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)  # it ends when its pipe does
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
