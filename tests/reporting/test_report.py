"""`truecall report` as a file: what is on the page, that nothing from the ledger gets out of its place, that the page
stays small, and where it is written. How it looks and behaves is for `test_report_browser.py`."""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import random
import re
import stat
import time
from html.parser import HTMLParser
from typing import Any

import pytest
from support.hostile_texts import ADDRESS, hostile
from support.ledgers import NOTE, call, scene, verdict
from support.project import ROOT
from support.statistics import stats

from truecall_py.ledger.store import ENDED, JUDGED, REQUESTED, SETTLED, STOP, Event, Ledger
from truecall_py.policy import orders as policy
from truecall_py.reporting import calls, follow_ups
from truecall_py.reporting.follow_ups import Sequels, Waits
from truecall_py.reporting.html import account, findings, markup, style


def read(*names: str) -> str:
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()


class Shape(HTMLParser):
    """A page as a browser's own parser would take it apart: every element closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.headings: list[int] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, (tag, self.open[-5:])

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def written(project: Any, *argv: str) -> Shape:
    """The page that the command writes, taken apart."""
    done = project.command("report", "-o", "page.html", "--force", *argv)
    assert done.returncode == 0 and not done.stderr, done
    return Shape(read(project.root, "page.html"))


# -- what is on it ---------------------------------------------------------------------------------------------


def test_the_figures_are_those_of_stats(project: Any) -> None:
    """The page says what `truecall stats` says, and says beside each figure what is counted and what is left out."""
    scene(project.state)
    found, text = stats(project), written(project).text
    claims = found["claims"]
    assert f"{found['sessions']} sessions, {found['calls']} calls, {found['judged']} of them judged" in text
    assert f"False successes {claims['false']} of {claims['judged']}" in text and "44.4%" in text
    assert "next step: same call 1, other route 1, nothing 2" in text
    assert "1 call refused before running" in text and "1 call that a contract in observe mode would have blocked" in text
    assert text.count("How it is counted Counted") == text.count("Left out") == 5
    assert "Duplicates no operations yet" in text and "Overdue operations no operations yet" in text
    assert [sum(row[name] for row in found["outcomes"]) for name in ("lie", "unverified", "verified")] == [4, 1, 4]


def test_every_lie_is_told_with_its_evidence_and_what_followed(project: Any) -> None:
    """Expected, found, the order, the next steps, and whether it was put right; nothing was told in observe mode."""
    scene(project.state)
    page = written(project)
    cards = page.text.partition("newest session first.")[2].partition("Timeline Sessions")[0]
    told = cards.split("false success ")[1:]
    heads = [each for each in told if "reported success" in each[:80]]
    assert len(heads) == 4 and all("expected a file at /p/notes/a.md" in each for each in heads)
    assert "found nothing at all." in heads[0] and "no further attempt in this session" in heads[0] and "not resolved" in heads[0]
    assert "order nothing, in observe mode" in heads[1]
    assert "other route" in heads[2] and "resolved after 20 s (other route)" in heads[2]
    assert "order to make the same call again, instead of the tool's output" in heads[3]
    assert "same call, 8.5 s later: mcp__notes__save_note verified" in heads[3] and "resolved after 10 s" in heads[3]


def test_the_timeline_tells_of_each_state(project: Any) -> None:
    """Requested, waiting, ended, judged again, settled, refused, running, and the stops in between."""
    scene(project.state)
    ledger = Ledger(project.state)
    call(ledger, "later", verdict("pending", "up"), at=500, session="s2", tool="Bash", harness="codex", form="append")
    ledger.add(Event("s2", "later", JUDGED, time.time() - 400, "codex", state="refuted",
                     data={"by": "stop", "verdicts": [verdict("refuted", "up")]}))  # fmt: skip
    data = {"held": True, "open": [["later", "up", "refuted"]], "claims": [["tests-passed", "refuted"]]}
    ledger.add(Event("s2", "stop 1", STOP, time.time() - 390, "codex", "t2", data=data))
    ledger.close()
    text = written(project).text
    for words in (
        "waited for the user's permission", "no end was recorded: it is running, was denied, or the session ended",
        "ended after 1.5 s, reported success", "judged in 20 ms", "resolved by stop: verified", "refused by truecall before it ran",
        "judged again by stop: refuted", "The agent stopped, and was held once: 1 verdict unresolved",
        "Judged at the stop: tests-passed refuted", "Stops held 1 of 1", "1; changed title since the previous one", f"paused {NOTE}", "instead Write",
    ):  # fmt: skip
        assert words in text, words


def test_a_session_of_the_real_hook_is_told(project: Any) -> None:
    """A lie, the second try that lands, and a lie at which the agent is held, as the hook itself wrote them down."""
    project.trust()
    for number, title in enumerate("aab"):
        told = project.mcp(args={"title": title, "body": "hello"}, tool_use_id=f"toolu_{number}")
        asked = {**told, "hook_event_name": "PreToolUse"}
        del asked["tool_response"]
        assert project.hook(asked, event="PreToolUse").form == "silent"
        if number == 1:
            project.write("notes/a.md", "hello")
        assert project.hook(told).form == ("silent" if number == 1 else "replace")
    stop = {**asked, "hook_event_name": "Stop", "stop_hook_active": False}
    assert project.hook(stop, event="Stop").json["decision"] == "block"
    text = written(project).text
    for words in (
        "False successes 2 of 3", "Corrections resolved 1 of 2", "Stops held 1 of 1", "resolved after", "not resolved",
        f"found nothing at {project.root}/notes/b.md", "order to check whether its effect is there, and repeat it only if not, instead of",
        "attempt 2; nothing changed since the previous one", "The agent stopped, and was held once: 1 verdict unresolved",
    ):  # fmt: skip
        assert words in text, words


def test_every_order_has_words() -> None:
    """Whatever the policy orders is a sentence on the page, not a name of ours."""
    assigned = (node for node in ast.parse(read(policy.__file__)).body if isinstance(node, ast.Assign))
    names = {each.id for node in assigned for each in ast.walk(node.targets[0]) if isinstance(each, ast.Name)}
    orders = {getattr(policy, name) for name in names if isinstance(getattr(policy, name), str)}
    assert orders - {policy.SILENT, policy.APPEND, policy.REPLACE, policy.OBSERVE} == set(findings.ORDERS)


def test_since_and_session_choose(project: Any) -> None:
    """Of one session, or since a time, the figures too; a session that is not there is said to be."""
    scene(project.state)
    text = written(project, "--session", "s2").text
    assert "1 session, 4 calls, 2 of them judged" in text and "Session s1" not in text and "session s2" in text
    assert "2 sessions, 2 calls, 1 of them judged" in written(project, "--since", "15m").text
    assert "No call was recorded." in written(project, "--since", "1s").text
    done = project.command("report", "--session", "nobody")
    assert done.returncode == 2 and "has no session 'nobody'" in done.stderr


def test_what_followed_is_followed_to_its_end(tmp_path: Any) -> None:
    """A second try that is refuted too is a step; the third that lands is the end; what the gate settled is one too."""
    ledger = Ledger(str(tmp_path))
    for number, state in enumerate(("refuted", "refuted", "verified")):
        call(ledger, f"try-{number}", verdict(state), at=100 - 10 * number, same="x")
    call(ledger, "long", verdict("pending", "up"), at=50, tool="Bash")
    ledger.add(Event("s1", "long", SETTLED, time.time() - 40, state="verified", data={"by": "stop", "verdicts": [verdict("verified", "up")]}))
    call(ledger, "left", verdict("refuted"), at=30, tool="Bash")
    call(ledger, "failed", verdict("refuted", outcome="honest failure"), at=20, reported="failure", form="silent")
    call(ledger, "seen", verdict("refuted", mode="observe"), at=10, form="observe")
    every = calls.group_calls(ledger.session("s1"))
    followed = Sequels(every)
    by = {each.call: followed.of(each) for each in every}
    assert [step.call for _, step in by["try-0"].steps] == ["try-1", "try-2"] and by["try-0"].by == calls.SAME
    assert by["try-0"].right is not None and round(by["try-0"].right - follow_ups.find_end(every[0])) == 20
    assert by["long"].by == "stop" and by["long"].right is not None and by["left"].right is None
    waits = Waits()
    waits.session(every, followed)
    assert waits.right == [1, 2, 0, 0, 0, 0] and waits.open == [0, 1, 0, 0, 0, 0]


def test_a_chain_of_tries_is_followed_however_long(tmp_path: Any) -> None:
    """A thousand tries end somewhere, and only the first few are told one by one."""
    ledger = Ledger(str(tmp_path))
    events = []
    for number in range(1000):
        state, data = "refuted", {"reported": "success", "verdicts": [verdict("refuted")]}
        column = {"tool": NOTE, "identity": "i" * 32, "turn": "t"}
        events += [Event("s1", f"c{number}", REQUESTED, number, **column), Event("s1", f"c{number}", ENDED, number + 0.5, state=state, data=data, **column)]
    ledger.add(*events)
    every = calls.group_calls(ledger.session("s1", 5000))
    sequel = Sequels(every).of(every[0])
    assert len(sequel.steps) == follow_ups.STEPS and sequel.more == 999 - follow_ups.STEPS and sequel.right is None


def test_what_came_next_is_found_among_all_calls(tmp_path: Any) -> None:
    """The index by which it is found leaves out no call that could be it: over many random sessions, with calls side
    by side and of sub-agents, it is the one that a look through all of them finds."""
    chance, ledger = random.Random(7), Ledger(str(tmp_path))
    for session in range(60):
        running: list[tuple[str, dict[str, Any]]] = []
        for number in range(40):
            column = {"tool": chance.choice("ABC"), "identity": chance.choice("xyzw"), "agent": chance.choice(["", "", "sub"])}
            running.append((f"c{number}", column))
            ledger.add(Event(f"s{session}", f"c{number}", REQUESTED, number, **column))
            while running and chance.random() < 0.6:
                name, column = running.pop(chance.randrange(len(running)))
                state = chance.choice(["verified", "refuted", "unverified", "pending"])
                rows = [verdict(state, chance.choice(["k", "l"]), expected=chance.choice(["this", "that", ""]), subject=chance.choice(["", "p"]),
                                grants=chance.choice(["", "g"]), alternatives=chance.choice([[], ["B"]])) for _ in range(chance.randrange(3))]  # fmt: skip
                ledger.add(Event(f"s{session}", name, ENDED, number, state=state, data={"reported": "success", "verdicts": rows, "alternatives": ["C"]}, **column))
    met = set()
    for session in range(60):
        every = calls.group_calls(ledger.session(f"s{session}"))
        followed = Sequels(every)
        for each in every:
            what, other = followed.next(each)
            assert (what, other) == calls.find_next_step(each, every)
            met.add(what)
    assert met == {calls.SAME, calls.OTHER, calls.NOTHING}


# -- that nothing gets out -------------------------------------------------------------------------------------


def test_nothing_of_a_hostile_ledger_is_more_than_text(project: Any) -> None:
    """Only elements and attributes of ours, links into the page alone, no style of anybody's, and the policy allows
    no script, no picture and no request; what was written is still there to read."""
    hostile(project.state)
    page = written(project)
    names = {name for name, _ in page.tags}
    assert names <= markup.TAGS and not names & {"script", "img", "iframe", "form", "base", "link", "object"}
    assert [name for name, _ in page.tags].count("style") == 1 and [name for name, _ in page.tags].count("h1") == 1
    for name, attributes in page.tags:
        assert set(attributes) <= markup.ATTRIBUTES, (name, attributes)
        assert attributes.get("href", "#").startswith("#")
        assert name == "meta" or not any(ADDRESS in (value or "") for value in attributes.values())
    for words in ("<img src=x onerror=window.ran=1>", "</script><script>window.ran=1</script>", "All calls were verified",
                  "javascript:window.ran=1", "&lt;script&gt; &amp; &#60;b&#62;"):  # fmt: skip
        assert words in page.text, words


def test_hidden_letters_are_written_out(project: Any) -> None:
    """Control, bidirectional and invisible characters and halves of pairs are letters on the page."""
    hostile(project.state)
    text = written(project).text
    raw = read(project.root, "page.html")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", raw)
    assert "\\u202egnirts desrever" in text and "\\x1b[2J" in text and "\\u200bhidden" in text


def test_marks_are_not_piled_up(project: Any) -> None:
    """Hundreds of accents on one letter would be painted over other calls; after a few they are only counted."""
    hostile(project.state)
    text = written(project).text
    assert "e" + "\u0301" * markup.MARKS + "[" in text and "\u0301" * (markup.MARKS + 1) not in text
    assert markup.escape_text("e" + "\u0301" * 400 + "!") == "e" + "\u0301" * markup.MARKS + f"[{400 - markup.MARKS} marks]!"
    assert markup.escape_text("Việt Nam नमस्ते שָׁלוֹם") == "Việt Nam नमस्ते שָׁלוֹם"


def test_what_is_left_out_is_counted() -> None:
    """A text of a megabyte says how much of it is missing."""
    assert f"[... {(1 << 20) - markup.LONGEST} bytes left out ...]" in markup.escape_text("x" * (1 << 20))


def test_a_megabyte_is_cut(project: Any) -> None:
    """A text of any length takes a few lines, and the page says that letters are missing."""
    hostile(project.state)
    page = written(project)
    assert os.path.getsize(os.path.join(project.root, "page.html")) < 1 << 20
    assert "bytes left out" in page.text and max(map(len, page.words)) < 2 * markup.LONGEST


def test_the_policy_lets_in_the_sheet_and_nothing_else(project: Any) -> None:
    """The policy comes before the sheet, names its digest, and has no word that would let in anything else."""
    scene(project.state)
    written(project)
    raw = read(project.root, "page.html")
    policy = next(attributes["content"] for _, attributes in Shape(raw).tags if attributes.get("http-equiv"))
    sheet = raw.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert raw.index("Content-Security-Policy") < raw.index("<style>")
    assert "url(" not in sheet and "@import" not in sheet and "http" not in sheet


@pytest.mark.parametrize(("name", "attributes"), [
    ("script", {}), ("img", {"src": "x"}), ("a", {"href": "javascript:alert(1)"}), ("a", {"href": "//host/"}), ("p", {"onclick": "x"}),
    ("p", {"style": "color:red"}),
])  # fmt: skip
def test_the_builder_makes_nothing_that_runs(name: str, attributes: dict[str, str]) -> None:
    """Even code of ours cannot put it on the page."""
    with pytest.raises(ValueError):
        markup.tag(name, "x", **attributes)


def test_a_text_that_was_escaped_once_is_not_escaped_again() -> None:
    """Markup stays, text is escaped, whichever way they are put together."""
    inner = markup.tag("b", "<&>\"'")
    assert inner == "<b>&lt;&amp;&gt;&quot;&#x27;</b>" and markup.tag("p", inner, None, 5) == f"<p>{inner}5</p>"
    with pytest.raises(ValueError):
        markup.style("</style><b>")


# -- how it can be read ----------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", [*style.INKS, *style.STATES])
def test_every_colour_is_read_on_every_ground(name: str, which: int) -> None:
    """4.5 to 1 at least, as AA asks of text, in both schemes."""
    for ground in (*style.GROUNDS, "soft"):
        assert contrast(style.COLOURS[name][which], style.COLOURS[ground][which]) >= 4.5, ground


def test_the_page_is_built_for_all(project: Any) -> None:
    """One language, landmarks, headings in order, headers in tables, names of pictures, ids that are there once."""
    scene(project.state)
    page = written(project)
    names = [name for name, _ in page.tags]
    assert page.tags[0] == ("html", {"lang": "en"}) and all(names.count(name) == 1 for name in ("main", "footer", "nav", "h1"))
    assert page.headings[0] == 1 and all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for name, attributes in page.tags:
        if "href" in attributes:
            assert (attributes["href"] or "")[1:] in ids
        for word in (attributes.get("aria-labelledby") or "").split():
            assert word in ids
        assert name != "th" or attributes.get("scope") in ("row", "col")
    tables = re.findall("<table.*?</table>", read(project.root, "page.html"))
    assert len(tables) == 3 and all("<caption>" in each and '<th scope="col">' in each for each in tables)
    pictures = [attributes for name, attributes in page.tags if name == "svg" and attributes.get("role") == "img"]
    assert pictures and names.count("title") > len(pictures) and names.count("desc") == 2


# -- how large it gets -----------------------------------------------------------------------------------------


def test_a_large_ledger_makes_a_page_of_bounded_size(project: Any) -> None:
    """All calls count in the figures; on the page are the ones that matter first, and it says what it left out and how
    to see it."""
    ledger = Ledger(project.state)
    for session in range(account.SESSIONS + 5):
        events = []
        for number in range(60 if session else 400):
            bad = number % 20 == 7
            at = 1.7e9 + 1000 * session + number
            column = {"harness": "codex", "turn": "t", "tool": f"tool-{number % 30}", "identity": f"{session}-{number}"}
            data = {"args": {"text": "word " * 60}, "reported": "success", "verdicts": [verdict("refuted" if bad else "verified")]}
            name = f"call-{session}-{number}"
            events += [Event(f"s{session}", name, REQUESTED, at, **column),
                       Event(f"s{session}", name, ENDED, at + 0.5, state="refuted" if bad else "verified", data=data, **column)]  # fmt: skip
        ledger.add(*events)
    ledger.close()
    page = written(project)
    size = os.path.getsize(os.path.join(project.root, "page.html"))
    assert size < 4 << 20, size
    whole = 400 + 60 * (account.SESSIONS + 4)
    assert f"{whole} calls, {whole} of them judged" in page.text
    shown = sum(1 for _, attributes in page.tags if re.fullmatch(r"c\d+", attributes.get("id") or ""))
    assert shown == account.CALLS
    assert "older sessions with" in page.text and "truecall report --session S" in page.text
    assert "older false successes. To list them: truecall log --outcome 'false success' --limit 122" in page.text
    alone = written(project, "--session", "s0")
    shown = sum(1 for _, attributes in alone.tags if re.fullmatch(r"c\d+", attributes.get("id") or ""))
    assert shown == account.OF_SESSION and "Not shown here: 250 calls (verified, or without a contract)" in alone.text
    assert "truecall log --session s0 --limit 400" in alone.text
    assert alone.text.count("tool-7 reported success") + alone.text.count("tool-27 reported success") > 0
    assert len(re.findall("tool-(7|17|27) reported success", alone.text)) == 20


def test_the_document_names_the_limits_as_they_are() -> None:
    """What docs/reference/report.md says of large ledgers is what the program does."""
    text = " ".join(read(ROOT, "docs", "reference", "report.md").split())
    assert f"at most {account.CALLS} calls, {account.OF_SESSION} of one session and {account.LIES} false successes" in text


# -- where it is written ---------------------------------------------------------------------------------------


def test_it_goes_where_a_person_looks_and_says_where(project: Any) -> None:
    """In the folder where one is, under a name that says what it is, for its owner alone; the path is all that is
    printed. The next report takes the place of the last."""
    scene(project.state)
    for _ in range(2):
        done = project.command("report")
        assert (done.returncode, done.stderr) == (0, "") and done.stdout == os.path.join(project.root, "truecall-report.html") + "\n"
        assert stat.S_IMODE(os.stat(done.stdout.strip()).st_mode) == 0o600
    assert [name for name in os.listdir(project.root) if "report" in name] == ["truecall-report.html"]
    done = project.command("report", "-o", "-")
    assert done.returncode == 0 and done.stdout.startswith("<!doctype html>") and done.stdout.endswith("</html>\n")


def test_no_file_of_somebody_else_is_overwritten_unasked(project: Any) -> None:
    """Not by a slip of the hand, and not through a link; --force is asking."""
    scene(project.state)
    project.write("truecall.yaml", "version: 1\n")
    os.symlink("truecall.yaml", os.path.join(project.root, "link.html"))
    for name, words in (("truecall.yaml", "--force"), ("link.html", "not a regular file"), (".", "not a regular file"), ("missing/x.html", "cannot write")):
        done = project.command("report", "-o", name)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr, done
        assert not done.stdout
    assert read(project.contract) == "version: 1\n" and os.path.islink(os.path.join(project.root, "link.html"))
    assert project.command("report", "-o", "truecall.yaml", "--force").returncode == 0
    assert read(project.contract).startswith("<!doctype html>")


def test_an_old_report_is_known_by_its_beginning(project: Any) -> None:
    """What begins like a page of ours is one, of whatever version; what only mentions it is not."""
    scene(project.state)
    project.write("old.html", '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="truecall report 0.0.1">')
    assert project.command("report", "-o", "old.html").returncode == 0
    project.write("mine.html", "<!doctype html>\n<p>about truecall report</p>")
    assert project.command("report", "-o", "mine.html").returncode == 2


def test_without_a_ledger_there_is_a_sentence_and_no_page(project: Any) -> None:
    """As in the other commands; a damaged ledger is said to be, with exit code 3, and leaves the last page as it was."""
    done = project.command("report")
    assert done.returncode == 0 and "the ledger is empty" in done.stderr and not done.stdout
    assert os.listdir(project.root) == [] and not os.path.exists(project.state)
    scene(project.state)
    assert project.command("report").returncode == 0
    before = read(project.root, "truecall-report.html")
    for name in os.listdir(project.state):
        project.write(os.path.join(project.state, name), b"no database" * 1000)
    done = project.command("report")
    assert done.returncode == 3 and "ledger" in done.stderr and not done.stdout
    assert read(project.root, "truecall-report.html") == before


def test_an_empty_ledger_makes_a_page_that_says_so(project: Any) -> None:
    """A ledger without a call, as after `prune`, is no error."""
    Ledger(project.state).close()
    text = written(project).text
    assert "No call was recorded yet" in text and "no claims yet" in text and "No call was recorded." in text
