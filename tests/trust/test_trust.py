"""Trust: what a person looked at is what is enforced, and nobody else decides it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import stat
import subprocess
import sys
import termios
import time

import pytest
from support.project import NOTE, PATIENCE, ROOT

from truecall_py.cli.options import list_agent_variables
from truecall_py.core import paths
from truecall_py.core.errors import TrustError
from truecall_py.core.fast_json import loads
from truecall_py.core.version import __version__
from truecall_py.trust import pin as pinning
from truecall_py.trust import store as trust

CUSTOM = """\
version: 1
contracts:
  - id: own-check
    tool: mcp__notes__save_note
    post:
      - custom: {python: "checks/own.py:holds"}
      - command: {run: [sh, "./probe.sh"]}
      - command: {run: [git, status]}
"""


def pins(project):
    """The store below `contracts/`: path -> mode."""
    found = {}
    for folder, folders, names in os.walk(os.path.join(project.state, "contracts")):
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            found[path] = stat.S_IMODE(os.lstat(path).st_mode)
    return found


def own_the_terminal():
    """Makes ^C what it is for a person."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def at_a_terminal(project, *argv, answer):
    """What `truecall trust` writes and ends with when a person answers at a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "truecall_py", "trust", *argv], cwd=project.root, stdin=theirs, stdout=theirs,
        stderr=theirs, env={**project.env, "PYTHONPATH": ROOT, "TERM": "dumb"}, start_new_session=True,
        preexec_fn=own_the_terminal,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    until = time.monotonic() + PATIENCE
    answered = False
    while time.monotonic() < until:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        seen += piece
        if not answered and b"[y/N]" in seen:
            time.sleep(0.3)  # a signal between the question and the reading of the answer would be lost
            os.write(ours, answer)
            answered = True
    os.close(ours)
    return process.wait(PATIENCE), seen.decode()


# -- the command ---------------------------------------------------------------------------------------------


def test_trust_shows_what_it_pins(project):
    """The path, every contract with what it applies to and checks, and the code that is and is not pinned."""
    project.write("checks/own.py", "def holds(call):\n    return True\n")
    project.write("probe.sh", "exit 0\n")
    project.write("truecall.yaml", CUSTOM)
    done = project.command("trust", "--yes")
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert lines[0] == project.contract
    assert "own-check: mcp__notes__save_note" in done.stdout and "custom  python: checks/own.py:holds" in done.stdout
    pinned = next(line for line in lines if line.startswith("  also pinned:"))
    assert f"{project.root}/checks/own.py" in pinned and "probe.sh" in pinned
    unpinned = next(line for line in lines if line.startswith("  run but not pinned:"))
    assert "git" in unpinned and "probe.sh" not in unpinned
    assert lines[-1] == f"trusted: {project.contract}"


def test_trust_shows_a_pack_in_one_line(project):
    """What truecall ships is counted, so that a person sees the contracts of the file's own; and which only observe."""
    text = "version: 1\nuse: [shell, guards]\ncontracts:\n  - id: mine\n    tool: t\n    post: {result: {path: id, exists: true}}\n"
    project.write("truecall.yaml", text)
    said = project.command("trust", "--yes").stdout
    assert "  mine: t\n" in said and "shell-rm" not in said and len(said.splitlines()) < 10
    assert re.search(r"^  pack shell: \d\d contracts$", said, re.M)
    assert re.search(r"^  pack guards: \d+ contracts, all before the call$", said, re.M)
    project.write("truecall.yaml", text + "mode: observe\n")
    said = project.command("trust", "--yes").stdout
    assert re.search(r"^  pack shell: \d\d contracts  \(observe only\)$", said, re.M)


def test_trust_shows_what_will_be_run(project):
    """Every command of a contract is shown, inside combinators as well, and nothing in it can move the cursor."""
    project.write(
        "truecall.yaml",
        'version: 1\ncontracts:\n  - id: x\n    tool: "a\\r\\e[2Kb\\nc"\n    post:\n'
        '      - command: {run: [rm, -rf, "a b"]}\n      - not: {any_of: [{custom: {run: [curl, "\\e[1A"]}}]}\n',
    )
    _, seen = at_a_terminal(project, answer=b"n\n")
    assert "run: rm -rf 'a b'" in seen and "run: curl '\\x1b[1A'" in seen
    assert "\x1b" not in seen and "\r" not in seen.replace("\r\n", "") and "a\\x0d\\x1b[2Kb\\nc" in seen


OPERATION = """\
version: 1
contracts:
  - id: charged
    tool: mcp__pay__charge
    key: "{{args.key}}"
    receipt:
      from: {command: {run: [curl, "https://pay.example"]}}
      match: {op: charge, resource: "{{args.order}}"}
      state: status
      states: {completed: verified, open: pending}
      duplicates: report
  - id: both
    event: stop
    steps: [charged]
  - id: tests-run
    event: stop
    claims: ["tests? pass"]
    kind: shell
    when: {args.command: {runs: "npm test"}}
"""


def test_trust_shows_where_a_receipt_comes_from_and_what_is_judged_at_the_stop(project):
    """The look-up that a receipt makes is run like any other, and what counts as done is what a person agrees to."""
    project.write("truecall.yaml", OPERATION)
    done = project.command("trust", "--yes")
    for words in (
        "receipt from command  run: curl https://pay.example", "op is charge", "resource is {{args.order}}",
        "status: completed is verified, open is pending", "a second call for it is reported",
        "idempotency key {{args.key}}", "both: at the stop", "steps: charged",
        "tests-run: at the stop, about kind shell", "if the last message contains tests? pass",
    ):  # fmt: skip
        assert words in done.stdout, (words, done.stdout)


def test_trust_refuses_a_broken_file(project):
    """A file with errors is not pinned; the errors come with line, column and code."""
    project.write("truecall.yaml", NOTE.replace("post:", "psot:"))
    done = project.command("trust", "--yes")
    assert done.returncode == 2 and not pins(project), done
    assert f"{project.contract}:5:5: TC" in done.stderr and "post" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", ["truecall.yaml", "other.yaml", "/nonexistent/truecall.yaml"])
def test_trust_of_a_file_that_is_not_there(project, path):
    """A file that is missing is said to be missing."""
    done = project.command("trust", path, "--yes")
    assert done.returncode == 2 and "there is no such contract file" in done.stderr, done


def test_trust_of_what_is_no_file(project):
    """A FIFO or a giant does not hang the command."""
    os.mkfifo(project.contract)
    done = project.command("trust", "--yes")
    assert done.returncode == 2 and "not a regular file" in done.stderr, done
    os.unlink(project.contract)
    with open(project.contract, "wb") as file:
        file.truncate(1 << 30)
    done = project.command("trust", "--yes")
    assert done.returncode == 2 and "larger than" in done.stderr, done


@pytest.mark.parametrize("named", ["the file", "its folder", "nothing", "through a link"])
def test_one_file_has_one_name(project, named):
    """The same pin comes of the file, its folder, the working folder, and a link to the folder."""
    project.write("truecall.yaml", NOTE)
    os.symlink(project.root, os.path.join(project.base, "link"))
    argv = {
        "the file": [project.contract], "its folder": ["."], "nothing": [],
        "through a link": [os.path.join(project.base, "link", "truecall.yaml")],
    }[named]  # fmt: skip
    assert project.command("trust", *argv, "--yes").returncode == 0
    assert list(pins(project))[-1] == os.path.join(project.state, "contracts" + project.contract, "1.pin")


def test_without_a_terminal_nobody_can_be_asked(project):
    """Without a terminal and without --yes nothing is trusted."""
    project.write("truecall.yaml", NOTE)
    done = project.command("trust")
    assert done.returncode == 2 and "--yes" in done.stderr and not pins(project), done


ANSWERS = [(b"y\n", 0), (b"n\n", 130), (b"\n", 130), (b"\x04", 130), (b"\x03", 130)]


@pytest.mark.parametrize(("answer", "code"), ANSWERS)
def test_at_a_terminal_the_person_is_asked(project, answer, code):
    """At a terminal the contracts are shown first, and only a yes pins them."""
    project.write("truecall.yaml", NOTE)
    ended, seen = at_a_terminal(project, answer=answer)
    assert ended == code, seen
    assert seen.index("note-saved") < seen.index("Enforce these contracts?")
    assert bool(pins(project)) == (code == 0)
    assert "Traceback" not in seen


def test_all_that_binds_an_agent_is_shown(project):
    """What holds it at the stop, what it is told to do, and the policy: a person pins nothing unseen."""
    project.write("truecall.yaml", """\
version: 1
policy: {session: 99, quarantine: {after: 0}}
contracts:
  - id: tests-run
    event: stop
    claims: ["tests? pass"]
    kind: shell
    remedy: run the tests
    alternatives: [mcp__ci__run]
""")
    done = project.command("trust", "--yes")
    assert done.returncode == 0, done
    assert "tests-run: at the stop, about kind shell" in done.stdout and "contains tests? pass" in done.stdout
    assert "remedy: run the tests" in done.stdout and "mcp__ci__run" in done.stdout
    assert '"session": 99' in done.stdout and '"after": 0' in done.stdout


@pytest.mark.parametrize("mark", list_agent_variables())
def test_an_agent_is_refused(project, mark):
    """Where an agent's environment shows, nothing is trusted or taken back unless told that a person is there."""
    project.trust()
    before = pins(project)
    project.write("truecall.yaml", NOTE + "# other\n")
    for argv in (["--yes"], ["--revoke"]):
        done = project.command("trust", *argv, env={mark: "1"})
        assert done.returncode == 2 and mark in done.stderr and "--person" in done.stderr, done
    assert pins(project) == before


def test_an_agent_with_a_person_is_not_refused(project):
    """--person says that somebody is there; looking at the list needs nobody."""
    project.write("truecall.yaml", NOTE)
    env = {"CLAUDECODE": "1"}
    assert project.command("trust", "--yes", "--person", env=env).returncode == 0
    assert project.contract in project.command("trust", "--list", env=env).stdout


def test_the_list_says_how_each_file_stands(project):
    """Every pinned file is listed: as trusted, changed, deleted, or of no use, whatever is wrong with another."""
    assert "nothing is trusted yet" in project.command("trust", "--list").stdout
    names = ("good", "changed", "deleted", "damaged")
    files = {name: os.path.join(project.base, name, "truecall.yaml") for name in names}
    where = {name: project.trust(path=path) for name, path in files.items()}
    project.trust(NOTE + "# other\n", files["good"])
    project.write(files["changed"], "version: 1\n")
    os.unlink(files["deleted"])
    project.write(where["damaged"], "x")
    done = project.command("trust", "--list")
    assert done.returncode == 0, done
    line = {name: next(line for line in done.stdout.splitlines() if line.startswith(files[name])) for name in names}
    assert ": trusted, 1 contract, since 20" in line["good"] and line["good"].endswith("2 versions")
    assert ": changed, " in line["changed"] and ": deleted, " in line["deleted"]
    assert "not enforced" in line["damaged"] and "damaged" in line["damaged"]


def test_revoke_takes_everything_back(project):
    """After --revoke no content of the path is trusted, no empty folder is left, and other files keep theirs."""
    other = project.trust(path=os.path.join(project.base, "other", "truecall.yaml"))
    project.trust()
    project.trust(NOTE + "# other\n")
    done = project.command("trust", "--revoke")
    assert done.returncode == 0 and "no longer trusted (2 versions)" in done.stdout, done
    assert [path for path in pins(project) if path.endswith(".pin")] == [other]
    assert not os.path.exists(os.path.join(project.state, "contracts" + project.root))
    assert project.hook(project.mcp()).form == "append"  # unverified: it is there and not trusted


def test_revoke_of_a_deleted_file(project):
    """A file that is gone can be taken back by its path; what was never trusted is no error."""
    project.trust()
    os.unlink(project.contract)
    assert "no longer trusted (1 version)" in project.command("trust", "truecall.yaml", "--revoke").stdout
    assert "0 versions" in project.command("trust", "truecall.yaml", "--revoke").stdout
    assert project.hook(project.mcp()).form == "silent"


@pytest.mark.parametrize(("more", "status"), [(b"", trust.TRUSTED), (b"# of another version\n", trust.CHANGED)])
def test_a_starter_pack_is_found_by_the_path_that_it_had_before(project, more, status):
    """A pin of a pack at its place in earlier wheels is compared with the pack where it is now. A path there without
    a pin is no file."""
    old = os.path.join(paths.PACKAGE, "contracts", "files.yaml")
    assert not os.path.exists(old)
    with open(os.path.join(paths.find_packs_folder(), "files.yaml"), "rb") as file:
        pinning.trust(pinning.compile_file(old, file.read() + more), project.state)
    assert trust.load_source(old, project.root, project.state).status == status
    assert trust.load_source(old.replace("files", "mcp"), project.root, project.state) is None


def test_the_state_folder_can_be_named(project):
    """--state names another store, relative to where the person stands."""
    project.write("truecall.yaml", NOTE)
    assert project.command("trust", "--yes", "--state", "elsewhere").returncode == 0
    store = os.path.join(project.root, "elsewhere")
    assert os.path.isdir(os.path.join(store, "contracts")) and not os.path.exists(project.state)
    assert project.hook(project.mcp(), options=("--state", store)).form == "replace"


@pytest.mark.parametrize("how", ["group-writable", "a link", "a file"])
def test_a_state_folder_of_others_is_refused(project, how):
    """Nothing is written to a state folder that others could write, or that is none."""
    project.write("truecall.yaml", NOTE)
    os.makedirs(os.path.dirname(project.state))
    if how == "group-writable":
        os.mkdir(project.state)
        os.chmod(project.state, 0o770)
    elif how == "a link":
        os.symlink(project.folder("target"), project.state)
    else:
        project.write(project.state, "")
    for argv in (["--yes"], ["--list"], ["--revoke"]):
        done = project.command("trust", *argv)
        assert done.returncode == 3 and "the state folder" in done.stderr, done
    assert not pins(project) and not os.listdir(project.folder("target"))


# -- the store -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077, 0o000])
def test_the_store_is_for_its_owner_alone(project, umask):
    """Whatever the umask, folders have mode 0700 and pins 0600, and the store is then believed."""
    project.write("truecall.yaml", NOTE)
    before = os.umask(umask)
    try:
        assert project.command("trust", "--yes").returncode == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(project.state).st_mode) == 0o700
    for path, mode in pins(project).items():
        assert mode == (0o600 if path.endswith(".pin") else 0o700), path
    assert project.hook(project.mcp()).form == "replace"


def test_a_pin_holds_the_bytes_and_the_compiled_form(project):
    """What is stored is the file, byte for byte, with the contracts as they are judged and truecall's version."""
    text = "\ufeff" + NOTE.replace("\n", "\r\n")
    where = project.trust(text)
    pin = trust.read_pin(where)
    assert pin.trusted == text.encode() and pin.current
    assert pin.header["version"] == __version__ and pin.header["path"] == project.contract
    (plain,) = [loads(line) for line in pin.lines.decode().splitlines()]
    assert plain["id"] == "note-saved"


def test_the_same_content_is_kept_once(project):
    """Trusting what is trusted already leaves one pin."""
    for _ in range(3):
        where = project.trust()
    assert [path for path in pins(project) if path.endswith(".pin")] == [where]


def test_several_contents_are_trusted(project):
    """Branches and worktrees: going back to an older trusted content is trusted, without a notice."""
    other = NOTE.replace("{{project}}/notes", "{{project}}/elsewhere")
    project.trust()
    project.trust(other)
    project.write("notes/a.md", "hello")
    assert project.hook(project.mcp()).form == "replace"
    project.write("truecall.yaml", NOTE)
    assert project.hook(project.mcp()).form == "silent"
    project.write("truecall.yaml", "version: 1\n")
    answer = project.hook(project.mcp())  # neither: the one that was trusted last
    assert "elsewhere" in answer.text and "has changed" in answer.notice


def test_trusting_an_older_content_again_makes_it_the_newest(project):
    """The content that was trusted last is the one that is enforced when the file is gone."""
    project.trust()
    project.trust(NOTE.replace("note-saved", "note-other"))
    project.trust()
    os.unlink(project.contract)
    assert "note-saved" in project.hook(project.mcp()).text


def test_a_damaged_pin_is_replaced(project):
    """Trusting again mends a damaged pin."""
    where = project.trust()
    project.write(where, "x")
    fresh = project.trust()
    assert [path for path in pins(project) if path.endswith(".pin")] == [fresh]
    assert project.hook(project.mcp()).form == "replace"


def test_code_is_pinned_with_its_contract(project):
    """The code that a contract names inside its folder is pinned by its digest; data files and programs on
    PATH are not."""
    code = project.write("checks/own.py", "def holds(call):\n    return True\n")
    probe = project.write("probe.sh", "exit 0\n")
    compiled = pinning.compile_file(project.write("truecall.yaml", CUSTOM))
    assert [os.path.normpath(path) for path in compiled.pinned] == [code, probe]
    assert "git" in compiled.unpinned
    assert not trust.find_changed_code(compiled.contracts[0])
    project.write("probe.sh", "exit 0 \n")
    assert os.path.normpath(trust.find_changed_code(compiled.contracts[0])) == probe


def test_code_that_is_not_there_is_not_trusted(project):
    """Missing code is warned of, with the line; the contract is unverified, even once the file is there, until
    it is trusted anew. The file's other contracts are enforced."""
    project.write("probe.sh", "exit 0\n")
    compiled = pinning.compile_file(project.write("truecall.yaml", CUSTOM))
    assert [(each.line, each.code) for each in compiled.warnings] == [(3, "TC303")]
    project.trust(CUSTOM)
    project.write("checks/own.py", "def holds(call):\n    return True\n")
    assert "was not there then" in project.hook(project.mcp()).text
    project.trust(CUSTOM)
    assert "was not there then" not in project.hook(project.mcp()).text


def test_recompiling_keeps_the_digests_that_were_trusted(project):
    """After an update of truecall, code that was changed in the meantime is still not the trusted one."""
    project.write("checks/own.py", "def holds(call):\n    return True\n")
    project.write("probe.sh", "exit 0\n")
    where = project.trust(CUSTOM)
    with open(where, "rb") as file:
        data = file.read()
    with open(where, "wb") as file:
        file.write(data.replace(b'"version":"', b'"version":"0.', 1))
    project.write("probe.sh", "exit 0 # changed\n")
    assert "probe.sh was changed since" in project.hook(project.mcp()).text


def test_a_store_that_cannot_be_written_is_told(project, monkeypatch):
    """A failing write says what to do and leaves no draft."""
    project.trust()
    before = pins(project)
    compiled = pinning.compile_file(project.write("truecall.yaml", NOTE + "# other\n"))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrustError, match="No space left") as caught:
        pinning.trust(compiled, project.state)
    assert "nothing was changed" in caught.value.do
    assert pins(project) == before


def test_sources_are_found_upward_and_the_own_file_last(project):
    """From the anchor upward every file that is there or was trusted, then the person's own."""
    deep = project.folder("project", "a", "b")
    for path in (project.contract, os.path.join(project.base, "truecall.yaml"), os.path.join(deep, "truecall.yaml")):
        project.trust(path=path)
    os.unlink(project.contract)
    project.trust(path=project.own)
    found = trust.load_sources(deep, project.state, project.own, None)
    assert [(source.path, source.status) for source in found] == [
        (os.path.join(deep, "truecall.yaml"), "trusted"),
        (project.contract, "deleted"),
        (os.path.join(project.base, "truecall.yaml"), "trusted"),
        (project.own, "trusted"),
    ]
    assert found[0].project == deep and found[3].project == deep
