"""One real process for each sabotage: whatever is broken, the answer says so. Silence is only for a call that
kept its contracts and for one that is no contract's business."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import uuid

import pytest
from support.project import NOTE, PATIENCE, ROOT, Answer

SOON = 6  # seconds: far more than any deadline that is set here, far less than what is waited for
ROOT_USER = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT_USER, reason="needs root")
FILES = "version: 1\nuse: [files]\ncontracts: []\n"
COMMAND = """\
version: 1
contracts:
  - id: probed
    tool: mcp__notes__save_note
    timeout: {timeout}
    post:
      - command: {{run: {run}}}
"""


def probed(run, timeout="1s"):
    return COMMAND.format(run=json.dumps(run), timeout=timeout)


def unverified(answer, *words):
    """The answer appends: the real output stays, and the agent reads that nothing was verified, and why."""
    assert answer.form == "append", answer
    assert answer.text.startswith("NOT CONFIRMED"), answer
    assert not [word for word in words if word not in answer.text], answer
    return True


def refuted(answer, *words):
    assert answer.form == "replace", answer
    assert answer.text.startswith("NOT DONE"), answer
    assert not [word for word in words if word not in answer.text], answer
    return True


def living():
    """(process, its parent, its arguments) of everything that runs."""
    listed = subprocess.check_output(["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], text=True, errors="replace")
    for line in listed.splitlines():
        pid, parent, args = line.split(None, 2)
        yield int(pid), int(parent), args


def marked(marker):
    """The living processes that have the marker among their arguments."""
    return [pid for pid, _, args in living() if marker in args]


def finish(process):
    """The answer of a process whose standard input is not touched; it is killed when it does not come."""
    watch = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
    watch.start()
    try:
        out, err = process.stdout.read(), process.stderr.read()
        return Answer(process.wait(), out, err)
    finally:
        watch.cancel()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


# -- standard input ------------------------------------------------------------------------------------------

GOOD = b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"T","tool_input":{},"tool_response":""}'
BAD_INPUT = {
    "empty": (b"", "the payload is empty"),
    "blanks": (b" \n\t\n", "the payload is empty"),
    "truncated": (GOOD[:-20], "not one JSON object"),
    "truncated in a string": (GOOD[:30], "not one JSON object"),
    "not UTF-8": (GOOD.replace(b'"T"', b'"\xff"'), "not UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "not UTF-8"),
    "trailing garbage": (GOOD + b" x", "something follows"),
    "two objects": (GOOD + b"\n" + GOOD, "something follows"),
    "NUL behind": (GOOD + b"\0", "something follows"),
    "duplicate keys": (GOOD[:-1] + b',"tool_name":"U"}', "stands twice"),
    "duplicate keys inside": (GOOD.replace(b'"tool_input":{}', b'"tool_input":{"a":1,"a":2}'), "stands twice"),
    "NaN": (GOOD[:-1] + b',"duration_ms":NaN}', "not a JSON number"),
    "1e999": (GOOD[:-1] + b',"duration_ms":1e999}', "too large"),
    "a huge integer": (GOOD[:-1] + b',"duration_ms":' + b"9" * 5000 + b"}", "not one JSON object"),
    "3,000 levels": (GOOD[:-1] + b',"x":' + b"[" * 3000 + b"]" * 3000 + b"}", "nested"),
    "100,000 levels": (GOOD[:-1] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested"),
    "100,000 open objects": (b'{"a":' * 100_000, "the payload is not one JSON object"),
    "null": (b"null", "not a JSON object"),
    "an array": (b"[" + GOOD + b"]", "not a JSON object"),
    "a string": (b'"hello"', "not a JSON object"),
    "a number": (b"1", "not a JSON object"),
    "an empty object": (b"{}", "no hook_event_name"),
    "plain text": (b"hello", "not one JSON object"),
    "a control character": (GOOD.replace(b'"T"', b'"\x01"'), "not one JSON object"),
    "tool_input a string": (GOOD.replace(b'"tool_input":{}', b'"tool_input":"x"'), "tool_input of T is not an"),
    "tool_input null": (GOOD.replace(b'"tool_input":{}', b'"tool_input":null'), "tool_input of T is not an"),
    "tool_name missing": (GOOD.replace(b'"tool_name":"T",', b""), "names no tool_name"),
    "tool_name a list": (GOOD.replace(b'"T"', b'["T"]'), "names no tool_name"),
    "tool_name empty": (GOOD.replace(b'"T"', b'""'), "names no tool_name"),
    "event a list": (GOOD.replace(b'"PostToolUse"', b'["PostToolUse"]'), "no hook_event_name"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_what_is_not_one_good_payload_is_answered(project, harness, name):
    """Whatever comes instead of one hook payload, the agent is told that nothing was verified, and why."""
    data, why = BAD_INPUT[name]
    if harness == "codex":
        data = data.replace(b'"session_id"', b'"turn_id":"t","session_id"')
    assert unverified(project.hook(data, harness), why)


def test_a_byte_order_mark_is_accepted(project):
    """A BOM before the payload changes nothing: the contract is judged."""
    project.trust()
    data = json.dumps(project.mcp()).encode()
    assert refuted(project.hook(b"\xef\xbb\xbf" + data), "note-saved")


def test_an_input_that_is_never_closed_is_answered_at_the_deadline(project, harness):
    """A client that leaves standard input open gets its answer at the deadline."""
    process = project.start(harness, options=("--deadline", "0.5"))
    process.stdin.write(GOOD)
    process.stdin.flush()
    began = time.monotonic()
    assert unverified(finish(process), "did not end in time")
    assert time.monotonic() - began < SOON


def test_an_input_that_is_never_closed_at_the_stop(project):
    """At the stop, where the launcher reads the input itself, an open input delays the answer by 5 seconds."""
    process = project.start("claude-code", "Stop")
    process.stdin.write(b'{"hook_event_name":"Stop"')
    process.stdin.flush()
    began = time.monotonic()
    assert finish(process).form == "notice"
    assert time.monotonic() - began < 2 * SOON


def test_an_input_without_end_is_answered(project):
    """A stream of data that never ends is given up at the deadline."""
    process = project.start(options=("--deadline", "0.5"))

    def pour():
        with contextlib.suppress(OSError):
            while True:
                process.stdin.write(b"[" * 65536)

    pouring = threading.Thread(target=pour)
    pouring.start()
    answer = finish(process)
    pouring.join(PATIENCE)
    assert not pouring.is_alive()
    assert unverified(answer)


def test_a_closed_input_is_answered(project, harness):
    """A hook that is started without a standard input says so."""
    assert unverified(project.hook(b"", harness, shell='"$@" <&-'))


def test_an_input_that_is_a_folder_is_answered(project, harness):
    """A standard input that cannot be read is trouble, not an empty event."""
    assert unverified(project.hook(b"", harness, shell='"$@" </'))


def test_a_large_write_is_judged(project):
    """A write of 8 MB, which comes twice in the payload, is judged: silent where it is on the disk, refuted
    where its end is missing."""
    project.trust(FILES)
    content = "0123456789abcdef\n" * (8 * 1024 * 1024 // 17)
    payload = json.dumps(project.wrote("big.txt", content)).encode()
    assert len(payload) > 16_000_000
    project.write("big.txt", content)
    assert project.hook(payload).form == "silent"
    project.write("big.txt", content[: len(content) // 2])
    answer = project.hook(payload)
    assert answer.text.startswith("NOT DONE"), answer
    assert len(answer.out) < 10_000


def test_lone_surrogates_do_not_void_the_answer(project, harness):
    """Half a surrogate pair in the arguments is written out: Codex drops an answer that holds one."""
    project.trust()
    data = json.dumps(project.mcp(harness, args={"title": "a\ud83d", "body": "\udc00"})).encode()
    answer = project.hook(data, harness)
    assert answer.form in ("replace", "append"), answer


# -- the event -----------------------------------------------------------------------------------------------


def test_an_event_that_nobody_knows_is_loud(project, harness):
    """An unknown event name is answered, not passed over."""
    payload = project.mcp(harness, hook_event_name="PostToolUsed")
    assert unverified(project.hook(payload, harness), "PostToolUsed")


def test_an_event_that_nobody_knows_is_loud_where_it_is_registered(project, harness):
    """The answer reaches the agent even where the settings register the unknown event."""
    payload = project.mcp(harness, hook_event_name="PostToolUsed")
    assert unverified(project.hook(payload, harness, "PostToolUsed"), "PostToolUsed")


@pytest.mark.parametrize("event", ["PreToolUse", "Stop", "SubagentStop", "SessionStart", "UserPromptSubmit"])
def test_a_known_event_that_is_not_judged_is_silent(project, harness, event):
    """An event that the client has and truecall does not judge passes without a word."""
    project.trust()
    assert project.hook(project.mcp(harness, hook_event_name=event), harness, event).form == "silent"


@pytest.mark.parametrize("sender", ["claude-code", "codex"])
def test_a_harness_that_nobody_knows_is_loud(project, sender):
    """A registered command that names no harness of ours is answered in the dialect of who sent the payload."""
    answer = project.hook(project.mcp(sender), "", "", options=("--harness", "nonsense"))
    assert unverified(answer, "nonsense", "claude-code, codex")
    assert ("turn_id" in project.mcp(sender)) == ("decision" not in answer.json)


def test_a_payload_that_cannot_be_read_and_a_harness_that_nobody_knows(project):
    """Where nothing is known at all, the answer has the form that most clients understand."""
    answer = project.hook(b"{", "", "", options=("--harness", "nonsense"))
    assert unverified(answer) and answer.json["decision"] == "block"


FOREIGN = {
    "Cursor": {"hook_event_name": "postToolUse", "cursor_version": "2.0", "tool_name": "Shell", "tool_input": {}},
    "VS Code": {"hookEventName": "PostToolUse", "tool_name": "t"},
    "Windsurf": {"agent_action_name": "post_write_code", "tool_info": {}},
    "Kimi Code": {"hook_event_name": "PostToolUse", "client_type": "kimi_code_cli", "tool_name": "Bash"},
    "Goose": {"event": "PostToolUse", "matcher_context": "t", "tool_name": "t"},
    "Mistral Vibe": {"hook_event_name": "post_tool", "tool_name": "t"},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_payload_is_loud(project, harness, name):
    """The shape of a harness that is not supported is named, never judged by guesswork."""
    assert unverified(project.hook(FOREIGN[name], harness), name, "does not support")


@pytest.mark.parametrize(("given", "sender"), [("codex", "claude-code"), ("claude-code", "codex")])
def test_the_sender_counts_and_not_the_registration(project, given, sender):
    """A payload of another harness than the registered one is judged and answered in its own dialect, and the
    person is told."""
    project.trust()
    answer = project.hook(project.mcp(sender), given)
    assert refuted(answer, "note-saved")
    assert ("updatedToolOutput" in answer.json["hookSpecificOutput"]) == (sender == "claude-code")
    assert f"registered for {given}" in answer.notice


WRONG = [("--frobnicate",), ("--deadline", "soon"), ("--deadline", "nan"), ("--state",), ("x",)]


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_wrong_registration_is_loud(project, harness, options):
    """A registered command that cannot be understood is answered with what is wrong with it."""
    project.trust()
    project.write("notes/a.md", "hello")
    assert unverified(project.hook(project.mcp(harness), harness, options=options), "the registered command is wrong")


# -- the contract file ---------------------------------------------------------------------------------------

BROKEN = {
    "broken": "version: 1\ncontracts: [",
    "changed": "version: 1\ncontracts: [{id: x, tool: y, post: [{file_exists: {path: z}}]}]\n",
    "empty": "",
    "without a check": "version: 1\ncontracts:\n  - id: note-saved\n    tool: mcp__notes__save_note\n",
    "no text": b"\xff\xfe\0\0",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_was_trusted_is_enforced(project, harness, name):
    """However the contract file is changed after it was trusted, the trusted form is judged, and the person is
    told once a session."""
    project.trust()
    project.write("truecall.yaml", BROKEN[name])
    first = project.hook(project.mcp(harness), harness)
    assert refuted(first, "note-saved")
    assert "has changed since it was trusted" in first.notice
    second = project.hook(project.mcp(harness), harness)
    assert refuted(second) and not second.notice
    other = project.hook(project.mcp(harness, session_id="another"), harness)
    assert refuted(other) and other.notice


def test_a_notice_comes_alone_where_all_is_well(project, harness):
    """A call that kept the trusted contract brings only the notice that the file was changed."""
    project.trust()
    project.write("truecall.yaml", "version: 1\n")
    project.write("notes/a.md", "hello")
    assert project.hook(project.mcp(harness), harness).form == "notice"
    assert project.hook(project.mcp(harness), harness).form == "silent"


def test_a_deleted_file_is_still_enforced(project, harness):
    """Deleting the contract file, or its whole folder, changes nothing but a notice."""
    project.trust()
    os.unlink(project.contract)
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "note-saved")
    assert "was deleted after it was trusted" in answer.notice


def test_a_file_that_was_never_trusted_is_not_enforced(project, harness):
    """Contracts that no person looked at are not judged; the agent gets the command for the person. Calls that
    only look are left alone."""
    project.write("truecall.yaml", NOTE)
    answer = project.hook(project.mcp(harness), harness)
    assert unverified(answer, "not been trusted", f"truecall trust {project.contract}")
    reading = "Read" if harness == "claude-code" else "view_image"
    assert project.hook(project.payload(harness, reading, {"path": "a"}), harness).form == "silent"


@pytest.mark.parametrize("text", ["", "version: 1\n", "contracts: [", NOTE.replace("    post:", "    pre:")])
def test_a_broken_file_that_was_never_trusted_is_loud(project, harness, text):
    """A contract file that is empty, without a check or no YAML counts as one that is not trusted."""
    project.write("truecall.yaml", text)
    assert unverified(project.hook(project.mcp(harness), harness), project.contract)


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("what", ["folder", "fifo", "sparse", "link to itself", "dangling link"])
def test_what_is_no_file_cannot_stand_in_for_one(project, harness, what, trusted):
    """A folder, a FIFO, a giant or a circular link where the contract file belongs neither hangs the hook nor
    passes for no file at all; what was trusted is still enforced."""
    if trusted:
        project.trust()
        os.unlink(project.contract)
    if what == "folder":
        os.mkdir(project.contract)
    elif what == "fifo":
        os.mkfifo(project.contract)
    elif what == "sparse":
        with open(project.contract, "wb") as file:
            file.truncate(1 << 30)
    else:
        os.symlink(project.contract if what == "link to itself" else "/nonexistent/x", project.contract)
    answer = project.hook(project.mcp(harness), harness, shell="ulimit -v 800000; \"$@\"")
    if trusted:
        assert refuted(answer, "note-saved") and answer.notice
    elif what != "dangling link":
        assert unverified(answer, project.contract)
    else:  # nothing is there, and nothing was trusted
        assert answer.form == "silent"


def test_a_named_contract_file_that_is_not_there_is_loud(project, harness):
    """--contracts that names nothing is no reason to pass."""
    answer = project.hook(project.mcp(harness), harness, options=("--contracts", "/nonexistent/c.yaml"))
    assert unverified(answer, "/nonexistent/c.yaml", "not there")


def test_a_named_contract_file_is_judged_alone(project):
    """--contracts judges the named file, and is enforced even when it was deleted since it was trusted."""
    project.trust(path=os.path.join(project.root, "other.yaml"))
    options = ("--contracts", "other.yaml")
    assert refuted(project.hook(project.mcp(), options=options), "note-saved")
    os.unlink(os.path.join(project.root, "other.yaml"))
    assert refuted(project.hook(project.mcp(), options=options), "note-saved")


OWN = {
    "never trusted": lambda project: project.write(project.own, NOTE),
    "no YAML": lambda project: project.write(project.own, "{{"),
    "a folder": lambda project: os.makedirs(project.own),
    "a damaged pin": lambda project: damage(project, project.trust(path=project.own), b"x"),
}


@pytest.mark.parametrize("name", OWN)
def test_the_persons_own_file_never_voids_the_projects(project, harness, name):
    """Trouble with the user's own contract file is told, and the project's contracts are judged all the same."""
    project.trust()
    OWN[name](project)
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "contract note-saved", project.own, "truecall trust")


def test_nested_files_add(project, harness):
    """Contracts of the folders above are judged as well, and their failures told together."""
    project.trust()
    above = os.path.join(project.base, "truecall.yaml")
    project.trust(NOTE.replace("note-saved", "note-above").replace("{{project}}/notes", "{{project}}/above"), above)
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "note-saved", "note-above")


# -- the trust store -----------------------------------------------------------------------------------------


def damage(project, pin, data):
    with open(pin, "rb") as file:
        whole = file.read()
    with open(pin, "wb") as file:
        file.write(data(whole) if callable(data) else data)


DAMAGE = {
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "empty": b"",
    "garbage": b"\xff" * 5000,
    "a compiled line overwritten": lambda data: data.replace(b'"file_exists"', b'"file_exists}'),
    "the index overwritten": lambda data: data.replace(b'save_note":[0]', b'save_note":[7]'),
    "the index of another shape": lambda data: data.replace(b'save_note":[0]', b'save_note":"x"'),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_pin_is_no_trust(project, harness, name):
    """A pin that is cut short or overwritten makes the file unverified, and the agent gets the command."""
    damage(project, project.trust(), DAMAGE[name])
    assert unverified(project.hook(project.mcp(harness), harness), "the pin is damaged", "truecall trust")


def test_a_damaged_pin_beside_a_good_one(project):
    """Another pin that is damaged does no harm to the one of the present content."""
    project.trust()
    damage(project, project.trust(NOTE + "# other\n"), b"")
    project.write("truecall.yaml", NOTE)
    assert refuted(project.hook(project.mcp()), "note-saved")


def test_a_pin_with_a_name_of_its_own_is_no_trouble(project):
    """What else lies in the folder of pins is passed over."""
    pin = project.trust()
    for name in ("x.pin", ".pin", "2.pin.77.draft"):
        project.write(os.path.join(os.path.dirname(pin), name), b"x")
    assert refuted(project.hook(project.mcp()), "note-saved")


def test_a_pin_of_another_version_is_compiled_again(project, harness):
    """After an update of truecall the trusted bytes are compiled again, and judged."""
    damage(project, project.trust(), lambda data: data.replace(b'"version":"', b'"version":"0.', 1))
    assert refuted(project.hook(project.mcp(harness), harness), "note-saved")
    project.write("notes/a.md", "hello")
    assert project.hook(project.mcp(harness), harness).form == "silent"


def test_a_pin_that_cannot_be_compiled_again_is_no_trust(project, harness):
    """Trusted bytes that this version of truecall does not understand are told, never dropped; other files are
    judged all the same."""
    old = project.trust(NOTE.replace("note-saved", "note-old"))

    def outdated(data):
        header, rest = data.split(b"\n", 1)
        return header.replace(b'"version":"', b'"version":"0.') + b"\n" + rest.replace(b"version: 1", b"version: 0")

    damage(project, old, outdated)
    project.trust(path=os.path.join(project.base, "truecall.yaml"))
    answer = project.hook(project.mcp(harness), harness)
    assert refuted(answer, "contract note-saved", project.contract, "truecall trust")


def writable(project):
    os.chmod(project.state, 0o770)


def linked(project):
    os.rename(project.state, project.state + ".moved")
    os.symlink(project.state + ".moved", project.state)


def owned(project):
    os.chown(project.state, 12345, 12345)


def a_file(project):
    shutil.rmtree(project.state)
    project.write(project.state, "")


@pytest.mark.parametrize("how", [writable, linked, pytest.param(owned, marks=as_root), a_file])
def test_a_state_folder_of_others_is_not_believed(project, harness, how):
    """A state folder that somebody else could have written, or that is a link, is no proof of trust."""
    project.trust()
    how(project)
    assert unverified(project.hook(project.mcp(harness), harness), "the state folder", project.state)


def test_a_relative_state_folder_is_not_believed(project, harness):
    """A state folder that depends on the working folder is one that the agent could choose."""
    project.trust()
    project.write("notes/a.md", "hello")
    answer = project.hook(project.mcp(harness), harness, options=("--state", "state"))
    assert unverified(answer, "the state folder")


CUSTOM = """\
version: 1
contracts:
  - id: own-check
    tool: mcp__notes__save_note
    when: {args.title: {equals: a}}
    post:
      - custom: {python: "checks/own.py:holds"}
"""


@pytest.mark.parametrize("change", ["changed", "deleted", "a folder", "a FIFO"])
def test_code_that_was_changed_is_not_run(project, harness, change):
    """A contract whose pinned code is no longer the trusted one is unverified, and the code does not run."""
    code = project.write("checks/own.py", "def holds(call):\n    return True\n")
    project.trust(CUSTOM)
    assert project.hook(project.mcp(harness), harness).form == "silent"
    os.unlink(code)
    if change == "changed":
        project.write("checks/own.py", f"open({project.root + '/ran'!r}, 'w')\ndef holds(call):\n    return True\n")
    elif change == "a folder":
        os.mkdir(code)
    elif change == "a FIFO":
        os.mkfifo(code)
    assert unverified(project.hook(project.mcp(harness), harness), "was changed since", "truecall trust", "own-check")
    assert not os.path.exists(project.root + "/ran")


def test_code_that_was_changed_matters_only_where_the_contract_applies(project, harness):
    """A call that the contract is not about is not troubled by its changed code."""
    project.write("checks/own.py", "def holds(call):\n    return True\n")
    project.trust(CUSTOM)
    project.write("checks/own.py", "def holds(call):\n    return 1\n")
    payload = project.mcp(harness, args={"title": "b", "body": "x"})
    assert project.hook(payload, harness).form == "silent"


# -- the checks ----------------------------------------------------------------------------------------------


def test_a_template_that_leads_nowhere_is_no_verdict(project, harness):
    """An argument that the call does not have makes the check unverified, never an empty string."""
    project.trust()
    assert unverified(project.hook(project.mcp(harness, args={"title": "a"}), harness), "args.body")


RAISING = {
    "an exception": "def holds(call):\n    raise ValueError('no')\n",
    "an exit": "import sys\ndef holds(call):\n    sys.exit(0)\n",
    "an exit in C": "import os\ndef holds(call):\n    os._exit(0)\n",
    "a kill": "import os, signal\ndef holds(call):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "a syntax error": "def holds(call:\n",
    "no such function": "def other(call):\n    return True\n",
    "an answer of another kind": "def holds(call):\n    return 'yes'\n",
    "no answer": "def holds(call):\n    pass\n",
    "noise": "import os\nos.write(1, b'{\"verdict\": \"verified\"}\\n')\ndef holds(call):\n    pass\n",
    "no end": "def holds(call):\n    while True: pass\n",
}


@pytest.mark.parametrize("name", RAISING)
def test_a_check_of_ones_own_that_fails_is_no_verdict(project, name):
    """A person's own check that raises, ends, hangs or answers nonsense is unverified."""
    project.write("checks/own.py", RAISING[name])
    project.trust(CUSTOM + "    timeout: 500ms\n")
    assert unverified(project.hook(project.mcp()), "own-check")


def installation(project, module, text):
    """A copy of the hook of which one module is replaced, added to (a text that begins with a new line) or
    deleted (None); the copy's launcher."""
    place = os.path.join(project.base, "installed")
    for name in ("hooks", "truecall_py"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(place, name))
    path = os.path.join(place, "truecall_py", module)
    if text is None:
        os.unlink(path)
    else:
        with open(path, "a" if text.startswith("\n") else "w") as file:
            file.write(text)
    return os.path.join(place, "hooks", "run.sh")


ERRORS = ["ValueError('no')", "SystemExit(0)", "KeyboardInterrupt", "MemoryError", "RecursionError"]


@pytest.mark.parametrize("error", ERRORS)
def test_a_check_that_raises_is_a_fault_of_ours(project, harness, error):
    """A bug in a check is no verdict, whatever it raises, and leaves no traceback in the answer."""
    project.trust()
    run = installation(
        project, "checks/file_exists.py", f"\ndef run(params, call, world):\n    raise {error}\n"
    )
    assert unverified(project.hook(project.mcp(harness), harness, run=run), error.partition("(")[0])


def test_a_bug_leaves_a_report_without_data(project):
    """A bug of truecall's own is answered, and the report holds places in the code and nothing of the call."""
    project.trust()
    run = installation(project, "judging/judge.py", "\ndef verdicts(*values):\n    raise ValueError('hello')\n")
    answer = project.hook(project.mcp(), run=run)
    assert unverified(answer, "a bug of its own (ValueError)", project.state + "/reports/")
    (report,) = os.listdir(project.state + "/reports")
    path = os.path.join(project.state, "reports", report)
    with open(path) as file:
        text = file.read()
    assert "ValueError" in text and "judge.py" in text and "hello" not in text
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


PROBES = {
    "hangs": ("sleep 20 # {marker}", "did not end within"),
    "ignores TERM": ("trap '' TERM HUP INT; sleep 20 # {marker}", "did not end within"),
    "could not be executed": ("exit 126", "could not be executed"),
    "was not found": ("exit 127", "not found"),
    "was killed": ("kill -9 $$", "signal 9"),
}


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_that_cannot_tell_is_no_verdict(project, harness, name):
    """A probe that hangs, is killed or cannot be run is unverified, and nothing of it is left."""
    script, why = PROBES[name]
    marker = f"marker-{uuid.uuid4()}"
    project.trust(probed(["sh", "-c", script.format(marker=marker)], "400ms"))
    assert unverified(project.hook(project.mcp(harness), harness), why)
    assert not marked(marker)


@pytest.mark.parametrize("code", [0, 1])
def test_a_child_that_keeps_the_pipe_changes_nothing(project, code):
    """The probe's own exit code counts at once, though its child holds the output open; the child is ended."""
    marker = f"marker-{uuid.uuid4()}"
    child = f"sh -c 'sleep 20; : {marker}' &"
    project.trust(probed(["sh", "-c", f"{child} exit {code}"], "15s"))
    began = time.monotonic()
    answer = project.hook(project.mcp())
    assert time.monotonic() - began < SOON
    assert refuted(answer, "exit code 1") if code else answer.form == "silent"
    assert not marked(marker)


def test_a_probe_that_is_not_there_is_no_verdict(project, harness):
    """A program that cannot be found says nothing about the call."""
    project.trust(probed(["no-such-program-here"]))
    assert unverified(project.hook(project.mcp(harness), harness), "no-such-program-here")


def test_a_pattern_without_end_is_no_verdict(project, harness):
    """A regular expression that does not end is stopped, and proves nothing."""
    text = NOTE.replace('contains: "{{args.body}}"', "matches: '^(a+)+$'") + "    timeout: 400ms\n"
    project.trust(text)
    project.write("notes/a.md", "a" * 60 + "b")
    assert unverified(project.hook(project.mcp(harness), harness), "did not end within")


@pytest.mark.parametrize("script", ["sleep 20", "exit 1"])
def test_one_deadline_covers_all(project, harness, script):
    """A contract that would look for a minute is answered at the deadline of the hook."""
    marker = f"marker-{uuid.uuid4()}"
    text = probed(["sh", "-c", f"{script} # {marker}"], "50s") + "    within: 60s\n"
    project.trust(text)
    began = time.monotonic()
    answer = project.hook(project.mcp(harness), harness, options=("--deadline", "1"))
    assert time.monotonic() - began < SOON
    assert unverified(answer)  # not refuted: it might have held within the minute
    assert not marked(marker)


# -- the process ---------------------------------------------------------------------------------------------


def waiting(project, marker, **more):
    """A hook process in the middle of a probe."""
    project.trust(probed(["sh", "-c", f"touch started; sleep 20 # {marker}"], "15s"))
    process = project.start(**more)
    process.stdin.write(json.dumps(project.mcp()).encode())
    process.stdin.close()
    process.stdin = None
    until = time.monotonic() + PATIENCE
    while not os.path.exists(os.path.join(project.root, "started")) and time.monotonic() < until:
        time.sleep(0.01)
    return process


def python_of(launcher):
    """The Python that a launcher started."""
    return next(pid for pid, parent, args in living() if parent == launcher and "start.py" in args)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("whom", ["python", "group"])
def test_a_signal_ends_the_work_but_not_the_answer(project, whom, number):
    """A client that has had enough and signals Python or the whole group still gets an answer."""
    marker = f"marker-{uuid.uuid4()}"
    process = waiting(project, marker)
    if whom == "group":
        os.killpg(process.pid, number)
    else:
        os.kill(python_of(process.pid), number)
    assert unverified(finish(process), "told to end")
    assert not marked(marker)


def test_a_signal_to_the_launcher_alone_changes_nothing(project):
    """The launcher answers although it was told to end: it waits for Python."""
    process = waiting(project, f"marker-{uuid.uuid4()}", options=("--deadline", "1"))
    os.kill(process.pid, signal.SIGTERM)
    assert unverified(finish(process))


def test_signals_again_and_again(project):
    """Many signals in a row do not shoot down the answer to the first."""
    process = waiting(project, f"marker-{uuid.uuid4()}")
    for _ in range(20):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.01)
    assert unverified(finish(process))


def test_a_python_that_is_killed_is_answered_for(project):
    """Python killed in the middle: the launcher gives the static answer."""
    process = waiting(project, f"marker-{uuid.uuid4()}")
    python = python_of(process.pid)
    os.kill(python, signal.SIGKILL)
    assert unverified(finish(process), "its program failed")


def stand_in(script):
    """A program that takes the place of Python."""
    return lambda project: project.write("python", f"#!/bin/sh\n{script}\n", 0o755)


INTERPRETERS = {
    "gone": lambda project: "/nonexistent",
    "silent": lambda project: "/bin/true",
    "failing": lambda project: "/bin/false",
    "talking": lambda project: "/bin/echo",
    "not executable": lambda project: project.contract,
    "a folder": lambda project: project.root,
    "another program": stand_in("echo '{}'"),
    "killed": stand_in("kill -9 $$"),
    "exit 2": stand_in("exit 2"),
    "sealed and failed": stand_in("echo; echo '#truecall:end'; exit 1"),
    "not sealed": stand_in("echo '{\"decision\": \"x\"}'"),
    "more behind the seal": stand_in("echo; echo '#truecall:end'; echo x"),
}


@pytest.mark.parametrize("name", INTERPRETERS)
def test_an_interpreter_that_does_not_answer_is_answered_for(project, harness, name):
    """Whatever stands in for Python, only a sealed answer of a process that ended well gets through."""
    project.trust()
    answer = project.hook(project.mcp(harness), harness, env={"TRUECALL_PYTHON": INTERPRETERS[name](project)})
    assert unverified(answer, "its program failed")


STATIC = {
    ("claude-code", "PostToolUse"): "append",
    ("claude-code", "PostToolUseFailure"): "append",
    ("claude-code", "PostToolBatch"): "append",
    ("claude-code", "PreToolUse"): "append",
    ("codex", "PostToolUse"): "append",
    ("codex", "PreToolUse"): "append",
    ("nonsense", "PostToolUse"): "",
    ("claude-code", "Nonsense"): "",
    ("", ""): "",
}


@pytest.mark.parametrize(("name", "event"), STATIC)
def test_the_static_answer_of_every_event(project, name, event):
    """A dead Python is answered for in the form of the harness and event, and by exit code 2 where there is
    none."""
    # The text without which the launcher starts nothing after a batch.
    answer = project.hook(b'{"a": "<tool_use_error>"}', name, event, env={"TRUECALL_PYTHON": "/nonexistent"})
    form = STATIC[name, event]
    if not form:
        assert answer.blocked and not answer.out, answer
        return
    assert answer.form == form
    assert answer.json.get("hookSpecificOutput", {}).get("hookEventName", event) == event


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_a_dead_python_blocks_the_stop_only_once(project, harness, event):
    """At the stop a broken installation is told to the agent once, and never keeps it from stopping."""
    env = {"TRUECALL_PYTHON": "/nonexistent"}
    payload = {"hook_event_name": event, "session_id": "s", "stop_hook_active": False}
    assert project.hook(payload, harness, event, env=env).json["decision"] == "block"
    for separators in ((",", ":"), (", ", ": ")):
        again = json.dumps({**payload, "stop_hook_active": True}, separators=separators).encode()
        assert project.hook(again, harness, event, env=env).form == "notice"


SABOTAGE = {
    "a syntax error": ("hook/main.py", "def main(:\n"),
    "an empty module": ("hook/main.py", ""),
    "a missing module": ("core/types.py", None),
    "a missing package file": ("clients/__init__.py", None),
    "a module that raises": ("core/fast_json.py", "raise ValueError\n"),
    "a module that exits": ("core/errors.py", "raise SystemExit(0)\n"),
    "a module that ends it all": ("core/errors.py", "import os\nos._exit(0)\n"),
    "a module that prints": ("core/errors.py", "\nprint('{}')\nimport os\nos._exit(0)\n"),
    "a seal that was changed": ("hook/main.py", "\nSEAL = '#other'\n"),
}


@pytest.mark.parametrize("name", SABOTAGE)
def test_a_broken_installation_is_answered_for(project, harness, name):
    """A package that cannot be imported, or ends the process, brings the static answer."""
    project.trust()
    run = installation(project, *SABOTAGE[name])
    assert unverified(project.hook(project.mcp(harness), harness, run=run))


def test_a_module_that_is_missing_when_it_is_needed(project, harness):
    """A module that is loaded late and cannot be is told, not passed over."""
    project.trust()
    run = installation(project, "checks/file_exists.py", None)
    answer = project.hook(project.mcp(harness), harness, run=run)
    assert unverified(answer, "the check file_exists is not in this version")


PLANTED = "open({ran!r}, 'w').close()\nraise ImportError('planted')\n"


def test_planted_modules_are_not_imported(project, harness):
    """Nothing in the project or on PYTHONPATH is imported in place of the standard library or of truecall."""
    project.write("checks/own.py", "import json\ndef holds(call):\n    return {'verdict': 'refuted', 'found': 'x'}\n")
    project.trust(CUSTOM)
    ran = os.path.join(project.base, "ran")
    planted = ("json", "os", "sitecustomize", "usercustomize", "time", "types", "_json", "truecall_py/__init__",
               "truecall_py/hook/main", "yaml")  # fmt: skip
    for folder in ("", "lib/"):
        for name in planted:
            project.write(f"{folder}{name}.py", PLANTED.format(ran=ran))
    env = {"PYTHONPATH": f"{project.root}:{project.root}/lib", "PYTHONHOME": None, "PYTHONSTARTUP": "json.py",
           "PYTHONINSPECT": "1"}  # fmt: skip
    assert refuted(project.hook(project.mcp(harness), harness, env=env), "own-check")
    assert not os.path.exists(ran)


@pytest.mark.parametrize("how", [">&-", ">/dev/full"])
def test_an_answer_that_cannot_be_written_is_no_success(project, harness, how):
    """Where standard output cannot be written, the process does not end with 0."""
    if "full" in how and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    project.trust()
    answer = project.hook(project.mcp(harness), harness, shell=f'"$@" {how}')
    assert answer.code == 2 and b"Traceback" not in answer.err, answer
    dead = project.hook(project.mcp(harness), harness, env={"TRUECALL_PYTHON": "/nonexistent"}, shell=f'"$@" {how}')
    assert dead.code == 2, dead


def test_a_reader_that_left_is_no_success(project):
    """A client that closed its end of the pipe does not make the hook end with 0."""
    process = project.start()
    process.stdout.close()
    process.stdin.write(GOOD[:-1])
    process.stdin.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE) != 0
    assert b"Traceback" not in err


def test_a_closed_stderr_changes_nothing(project, harness):
    """Without a standard error the answer is the same."""
    project.trust()
    assert refuted(project.hook(project.mcp(harness), harness, shell='"$@" 2>&-'))
    assert refuted(project.hook(project.mcp(harness), harness, shell='exec "$@" 2>&- 3>&- 4>&-'))


@pytest.mark.parametrize("deleted", ["the folder", "the whole project"])
def test_a_deleted_working_folder_is_survived(project, harness, deleted):
    """A hook whose working folder is gone judges what was trusted for it."""
    project.trust()
    inside = project.folder("project", "deep")
    where = inside if deleted == "the folder" else project.root
    shell = f'cd {where}; rm -rf {where}; exec "$@"'
    env = {"PWD": where}
    assert refuted(project.hook(project.mcp(harness), harness, shell=shell, env=env), "note-saved")


def test_without_a_home_the_contracts_are_judged(project, harness):
    """HOME that is not set changes nothing for a trust store named otherwise."""
    project.trust()
    assert refuted(project.hook(project.mcp(harness), harness, env={"HOME": None}), "note-saved")


def test_without_any_home_the_working_folder_is_not_the_store(project, harness):
    """Where nobody knows an absolute home folder, one below the working folder is not taken for it."""
    project.trust(path=project.write("planted.yaml", NOTE))
    shutil.copytree(project.state, os.path.join(project.root, "~", ".local", "state", "truecall"))
    project.write("truecall.yaml", NOTE)
    env = {"HOME": "~", "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None}
    assert unverified(project.hook(project.mcp(harness), harness, env=env))


LOCALES = {
    "C": {"LC_ALL": "C", "PYTHONIOENCODING": "cp950"},
    "POSIX": {"LC_ALL": "POSIX", "LANG": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "one that is not there": {"LC_ALL": "xx_XX.ISO-8859-1"},
}


@pytest.mark.parametrize("name", LOCALES)
def test_a_hostile_locale_changes_nothing(project, harness, name):
    """Names beyond ASCII are found, and the answer is ASCII, whatever the locale."""
    project.trust()
    env = {"LANG": None, **LOCALES[name]}
    payload = project.mcp(harness, args={"title": "café 中", "body": "ö\U0001f600"})
    assert refuted(project.hook(payload, harness, env=env), "caf")
    project.write("notes/café 中.md", "ö\U0001f600")
    assert project.hook(payload, harness, env=env).form == "silent"


def test_a_folder_whose_name_is_no_text(project, harness):
    """A project folder with bytes that are no UTF-8 is judged, and its notices do not void the answer."""
    project.root = project.folder("pr\udcff\x1b[1m")
    project.contract = os.path.join(project.root, "truecall.yaml")
    project.trust()
    os.unlink(project.contract)
    answer = project.hook(project.mcp(harness, cwd="/"), harness)
    assert refuted(answer, "note-saved") and "deleted" in answer.notice and "\x1b" not in answer.notice


@as_root
def test_a_state_folder_that_cannot_be_written(project):
    """A read-only trust store is read all the same; the person is then told each time."""
    project.trust()
    project.write("truecall.yaml", "version: 1\n")
    mount = f"mount --bind {project.state} {project.state} && mount -o remount,ro,bind {project.state} && "
    shell = f"unshare -m sh -c '{mount} exec \"$@\"' sh \"$@\""
    for _ in range(2):
        answer = project.hook(project.mcp(), shell=shell)
        if answer.code and b"unshare" in answer.err + b"mount":
            pytest.skip("mounting is not permitted here")
        assert refuted(answer, "note-saved") and answer.notice


def test_a_state_folder_without_write_permission(project, harness):
    """A trust store that its owner may not write is read all the same."""
    project.trust()
    project.write("truecall.yaml", "version: 1\n")
    for folder, _, _ in os.walk(project.state):
        os.chmod(folder, 0o500)
    answer = project.hook(project.mcp(harness), harness)
    for folder, _, _ in os.walk(project.state):
        os.chmod(folder, 0o700)
    assert refuted(answer, "note-saved") and answer.notice


def test_a_temporary_folder_that_is_not_there(project, harness):
    """TMPDIR that leads nowhere changes nothing."""
    project.trust()
    env = {"TMPDIR": "/nonexistent", "TMP": "/nonexistent", "TEMP": "/nonexistent"}
    assert refuted(project.hook(project.mcp(harness), harness, env=env), "note-saved")


@pytest.mark.parametrize("limit", ["-n 4", "-n 5", "-n 6", "-n 8", "-n 12", "-v 4000", "-v 9000", "-v 12000",
                                   "-v 14000", "-v 16000", "-v 20000", "-v 40000"])  # fmt: skip
def test_a_process_that_is_short_of_everything(project, limit):
    """With hardly any descriptors or memory there is an answer, or exit code 2; never a pass."""
    project.trust()
    answer = project.hook(project.mcp(), shell=f'ulimit {limit}; exec "$@"')
    assert b"Traceback" not in answer.out + answer.err, answer
    # A shell that cannot even start ends with 127 or a signal; that is beyond any hook's reach.
    if answer.code or not answer.out:
        assert answer.code == 2 or (limit.startswith("-v") and answer.code in (126, 127)), answer
    else:
        assert answer.text


def test_a_payload_that_does_not_fit_into_memory(project, harness):
    """A payload larger than the memory brings an answer."""
    project.trust(NOTE)
    payload = project.mcp(harness, args={"title": "a", "body": "x" * 60_000_000})
    answer = project.hook(payload, harness, shell='ulimit -v 90000; exec "$@"')
    assert unverified(answer)


def test_a_payload_beyond_all_measure(project):
    """A payload above the limit of 128 MB is given up, not read without end."""
    process = project.start(options=("--deadline", "15"))
    piece = b"[" * (1 << 20)
    with contextlib.suppress(BrokenPipeError):
        for _ in range(140):
            process.stdin.write(piece)
    assert unverified(finish(process), "larger than 128 MB")


# -- trust on a full disk, and many at once ------------------------------------------------------------------


def store(project):
    """Every file of the trust store with its content."""
    found = {}
    for folder, _, names in os.walk(os.path.join(project.state, "contracts")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.join(folder, name)] = file.read()
    return found


def large():
    return NOTE + "".join(f"# {number:060d}\n" for number in range(3000))


def test_trust_on_a_full_disk_changes_nothing(project):
    """Trust that cannot be written whole leaves the old pin as it was, and no draft."""
    project.trust()
    before = store(project)
    project.write("truecall.yaml", large())
    limit = ["sh", "-c", 'ulimit -f 64; exec "$@"', "sh", sys.executable, "-m", "truecall_py", "trust", "--yes"]
    done = subprocess.run(limit, cwd=project.root, env={**project.env, "PYTHONPATH": ROOT}, capture_output=True,
                          text=True, timeout=PATIENCE, check=False)  # fmt: skip
    assert done.returncode == 3 and "nothing was changed" in done.stderr, done
    assert "Traceback" not in done.stderr
    assert store(project) == before
    assert refuted(project.hook(project.mcp()), "note-saved")


@as_root
def test_trust_on_a_tiny_file_system(project):
    """The same on a file system that is really full."""
    os.makedirs(project.state, 0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", project.state],
                      capture_output=True, check=False).returncode:  # fmt: skip
        pytest.skip("mounting is not permitted here")
    try:
        project.trust()
        before = store(project)
        project.write("truecall.yaml", large())
        done = project.command("trust", "--yes")
        assert done.returncode == 3 and "No space left" in done.stderr, done
        assert store(project) == before
    finally:
        subprocess.run(["umount", project.state], check=True)


@pytest.mark.parametrize("contents", ["one content", "eight contents"])
def test_many_trusts_at_once_leave_readable_pins(project, contents):
    """Eight people who trust at once all succeed, and every content that was trusted is trusted afterwards."""
    from truecall_py.trust.store import Pin

    texts = [NOTE + (f"# {number}\n" if contents == "eight contents" else "") for number in range(8)]
    code = (
        "import sys; from truecall_py.trust import pin as pinning; data = sys.argv[1].encode(); sys.stdin.read();"
        "pinning.trust(pinning.compile_file('truecall.yaml', data), sys.argv[2])"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, text, project.state], cwd=project.root, stdin=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**project.env, "PYTHONPATH": ROOT},
        )
        for text in texts
    ]  # fmt: skip
    time.sleep(0.5)
    for process in started:
        process.stdin.close()
    for process in started:
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(PATIENCE) == 0, err
    pins = store(project)
    assert all(path.endswith(".pin") for path in pins)
    assert sorted(Pin(data, path).trusted.decode() for path, data in pins.items()) == sorted(set(texts))


def test_a_loop_in_truecalls_own_code_ends_with_the_deadline(project):
    """A bug that never ends is ended by the alarm, and the agent is told; nothing waits for the client's patience."""
    project.trust()
    code = (
        "import sys; sys.path.append(sys.argv[1]); from truecall_py.checks import file_exists\n"
        "def loop(*_):\n    while True: pass\n"
        "file_exists.run = loop\n"
        "from truecall_py.hook.main import main; sys.exit(main(['claude-code', 'PostToolUse', '--deadline', '0.5']))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, ROOT]
    done = subprocess.run(argv, input=json.dumps(project.mcp()).encode(), capture_output=True, timeout=PATIENCE,
                          env=project.environment("claude-code"), cwd=project.root)  # fmt: skip
    assert Answer(done.returncode, done.stdout, done.stderr).form == "append"


def test_a_batch_that_cannot_be_read_is_not_passed_over(project):
    """Where not even `head` is found, the launcher gives its static answer after a batch, not silence."""
    answer = project.hook(b'{"a": "<tool_use_error>"}', event="PostToolBatch", shell='PATH=/nonexistent; exec /bin/sh "$2" "$3" "$4"')
    assert "NOT CONFIRMED" in answer.json["hookSpecificOutput"]["additionalContext"]
