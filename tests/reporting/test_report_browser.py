"""The page of `truecall report` in a real Chromium: that it fits every width, asks for nothing, says nothing in the
console, runs nothing of what a ledger holds, and can be read in both schemes, with the keyboard and on paper."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from support import chromium as browser
from support import hostile_texts
from support.chromium import Page
from support.ledgers import call, scene, verdict

from truecall_py.ledger.store import STOP, Event, Ledger

WIDTHS = (360, 768, 1280)
# What is wider than the window, and neither scrolls inside a box of its own nor is cut with dots.
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(each => {
  if (each.closest('.wide, .skip, .about bdi, svg svg')) return false;
  const box = each.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || box.left < -1);
}).map(each => each.tagName + '.' + each.className + ' ' + each.textContent.slice(0, 40))"""
# Text whose contrast with what it stands on is below that of AA, as the browser itself computed the colours.
TOO_PALE = """(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => { const [r, g, b] = parts(colour).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = each => { for (; each; each = each.parentElement) {
      const found = getComputedStyle(each).backgroundColor, all = parts(found);
      if (all.length === 3 || all[3] === 1) return found; } return 'rgb(255, 255, 255)'; };
  let seen = 0;
  const bad = [...document.querySelectorAll('body *')].filter(each => !each.closest('svg')
      && [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())).filter(each => {
    seen += 1;
    const [one, other] = [light(getComputedStyle(each).color), light(ground(each))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05) < 4.5; }).map(each => each.tagName + ' ' + each.textContent.slice(0, 40));
  return [seen, bad]; })()"""
OPEN_ALL = "document.querySelectorAll('details').forEach(each => { each.open = true })"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser.running() as running:
        yield running


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server to which nobody may come."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def report(project: Any, *argv: str) -> str:
    done = project.command("report", "-o", "page.html", *argv)
    assert done.returncode == 0, done
    return "file://" + os.path.join(project.root, "page.html")


def full(state: str) -> None:
    """The scene of the other tests, with a stop, and names and texts that are long or cannot be broken."""
    scene(state)
    ledger = Ledger(state)
    ledger.add(Event("s1", "stop 1", STOP, 1.7e9, "claude-code", data={"held": True, "open": [["a", "b", "refuted"]], "claims": []}))
    call(ledger, "wide", verdict("refuted", contract="c" * 200, found="x" * 390, expected="y" * 390), at=8, tool="t" * 200,
         session="s" * 200, args={"n" * 70: "v" * 390})  # fmt: skip
    ledger.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_and_is_read_at_every_width(project: Any, page: Page, width: int, scheme: str) -> None:
    """Nothing sticks out of the window, closed and opened; every text has the contrast of AA; the console is silent;
    the one request is the page itself."""
    full(project.state)
    address = report(project)
    page.size(width, phone=width < 500)
    page.media(scheme)
    before = len(page.seen)
    page.open(address)
    for _ in range(2):
        page.settled()
        assert page.value("document.documentElement.scrollWidth") == width == page.value("innerWidth")
        assert page.value(TOO_WIDE) == []
        seen, pale = page.value(TOO_PALE)
        assert seen > 100 and pale == []
        page.value(OPEN_ALL)
    dark = page.value("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 27)"
    assert dark == (scheme == "dark")
    page.seen = page.seen[before:]
    assert page.requests() == [address] and page.complaints() == []


def test_the_heads_of_a_small_table_are_whole_on_a_phone(project: Any, page: Page) -> None:
    """Of two kinds of outcome both columns are seen at 360 pixels: their heads are folded, not pushed out of sight."""
    ledger = Ledger(project.state)
    call(ledger, "lie", verdict("refuted"), at=1)
    call(ledger, "doubt", verdict("unverified", outcome="unknown", cause="tool"), at=2)
    ledger.close()
    page.size(360, phone=True)
    page.open(report(project))
    heads = "[...document.querySelectorAll('.plots figure:first-child thead th')].map(each => each.textContent)"
    assert page.value(heads) == ["tool", "false success", "unverified"]
    hidden = "[...document.querySelectorAll('.wide')].filter(each => each.scrollWidth > each.clientWidth).length"
    assert page.value(hidden) == 0


@pytest.mark.parametrize("policy", [True, False], ids=["with its policy", "by its escaping alone"])
def test_a_hostile_ledger_runs_nothing(project: Any, page: Page, listener: socket.socket, policy: bool, monkeypatch: Any) -> None:
    """No script, no picture, no request and no other page, even in a browser that does not know the policy."""
    here = f"http://127.0.0.1:{listener.getsockname()[1]}"
    monkeypatch.setattr(hostile_texts, "HOSTILE", [each.replace(hostile_texts.ADDRESS, here) for each in hostile_texts.HOSTILE])
    hostile_texts.hostile(project.state)
    address = report(project)
    page.size(360, phone=True)
    page.media()
    page.ask("Page.setBypassCSP", enabled=not policy)
    before = len(page.seen)
    try:
        page.open(address)
        page.value(OPEN_ALL)
        # Whatever hangs on a movement, a click or a key would run now.
        page.value("""[...document.querySelectorAll('body *')].forEach(each => ['mouseover', 'click', 'focus', 'error', 'load']
            .forEach(kind => each.dispatchEvent(new Event(kind, {bubbles: true}))))""")
        page.settled()
        assert page.value("typeof window.ran") == "undefined"
        assert page.value("document.title") == "truecall: What agents reported, and what truecall found"
        assert page.value("location.href.split('#')[0]") == address
        assert page.value("document.querySelectorAll('script, img, iframe, form, base, link, object, [src], [style]').length") == 0
        assert page.value("document.querySelectorAll('h1').length") == 1
        assert page.value("document.body.innerText.includes('<img src=x onerror=window.ran=1>')")
        assert page.value("document.documentElement.scrollWidth") == 360 and page.value(TOO_WIDE) == []
    finally:
        page.ask("Page.setBypassCSP", enabled=False)
    page.seen = page.seen[before:]
    assert page.requests() == [address] and page.complaints() == []
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_the_policy_would_stop_what_got_through(project: Any, page: Page, listener: socket.socket) -> None:
    """Were there a hole in the escaping, the browser would still run and load nothing."""
    scene(project.state)
    address = report(project)
    path = address.removeprefix("file://")
    hole = f"<script>window.ran=1</script><img src='http://127.0.0.1:{listener.getsockname()[1]}/x' onerror='window.ran=2'>"
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("</main>", f"{hole}</main>")
    project.write(path, text)
    before = len(page.seen)
    page.open(address)
    page.settled()
    assert page.value("typeof window.ran") == "undefined"
    page.seen = page.seen[before:]
    assert any("Content Security Policy" in each for each in page.complaints())
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_it_is_used_with_the_keyboard(project: Any, page: Page) -> None:
    """The first key leads past the head; all links and details are reached in order; Enter opens a call; a link from a
    false claim leads to its place in the timeline."""
    full(project.state)
    page.size(768)
    page.media()
    page.open(report(project))
    reached = []
    for _ in range(400):
        for kind in ("keyDown", "keyUp"):
            page.ask("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        at = page.value("[...document.querySelectorAll('a, summary, [tabindex]')].indexOf(document.activeElement)")
        if at < 0:
            break
        reached.append(at)
    assert reached == list(range(page.value("document.querySelectorAll('a, summary, [tabindex]').length")))
    page.value("document.querySelector('.calls summary').focus()")
    for kind in ("keyDown", "keyUp"):
        page.ask("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r" if kind == "keyDown" else "")
    assert page.value("document.querySelector('.calls details').open")
    page.value("document.querySelector('.lie-card a').click()")
    page.settled()
    assert page.value("document.querySelector(':target').matches('.calls > li')")


def test_it_is_read_aloud(project: Any, page: Page) -> None:
    """A reader for the blind finds landmarks, named tables and pictures with names, and nothing without a name."""
    full(project.state)
    page.open(report(project))
    nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
    told = [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if not each["ignored"] and "role" in each]
    roles = [role for role, _ in told]
    assert {"main", "navigation", "contentinfo", "banner"} <= set(roles)
    for kind in ("table", "image", "link", "heading", "region", "DisclosureTriangle"):
        names = [name for role, name in told if role == kind]
        assert names and all(names), (kind, names)
    assert any(name.startswith("Claims of success: 5 false") for role, name in told if role == "image")


def test_it_is_printed_whole(project: Any, page: Page) -> None:
    """On paper the colours are those for paper, and what is closed on the screen is printed too."""
    full(project.state)
    page.size(768)
    page.media("dark", "print")
    page.open(report(project))
    page.settled()
    assert page.value("getComputedStyle(document.body).color") == "rgb(31, 35, 40)"
    assert page.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.value("document.querySelector('.calls details .verdict').checkVisibility({contentVisibilityAuto: true})")
    page.media("light", "screen")
    assert not page.value("document.querySelector('.calls details .verdict').checkVisibility({contentVisibilityAuto: true})")
