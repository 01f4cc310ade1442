"""git in a hostile repository: nothing of it is run, and nothing is fetched."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from typing import ClassVar

import pytest
from support.git_repositories import sh, state

TRAP = "#!/bin/sh\necho \"$0 $*\" >> {marks}/{name}\nexit 0\n"
TRAPS = {
    "fsmonitor": ["core.fsmonitor"],
    "pager": ["core.pager", "pager.log", "pager.status"],
    "askpass": ["core.askPass"],
    "ssh": ["core.sshCommand"],
    "proxy": ["core.gitProxy"],
    "helper": ["credential.helper", "credential.https://127.0.0.1:1.helper"],
    "external": ["diff.external", "diff.bad.command", "diff.bad.textconv"],
    "filter": ["filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "filter.worse.clean"],
    "gpg": ["gpg.program", "gpg.ssh.program", "gpg.openpgp.program"],
    "pack": ["remote.origin.uploadpack", "remote.origin.receivepack", "uploadpack.packObjectsHook"],
    "alternates": ["core.alternateRefsCommand"],
    "editor": ["core.editor", "sequence.editor"],
    "vcs": ["alias.status", "alias.rev-parse", "alias.ls-remote"],
}
EVERYTHING = [
    {"commit": "made"}, {"commit": "all"}, {"head": "kept"}, {"subject": "two"}, {"lines_changed": {"files": 9}},
    {"contains": "HEAD~1"}, {"branch": "x"}, {"upstream": "x"}, {"ref": "x"}, {"no_ref": "main"}, {"unmoved": "main"},
    {"worktree": "x"}, {"clean": "all"}, {"staged": "."}, {"tracked": "a"}, {"repository": "own"}, {"pushed": True},
    {"cloned": "x", "folder": "."},
]  # fmt: skip


@pytest.fixture
def hostile(place):
    """A repository whose configuration, attributes, hooks, submodule and missing object all start a program."""
    marks = place / "marks"
    marks.mkdir()
    traps = place / "traps"
    traps.mkdir()
    for name in [*TRAPS, "hook", "submodule", "lazy", "vcs", "git", "ssh-planted"]:
        (traps / name).write_text(TRAP.format(marks=marks, name=name))
        (traps / name).chmod(0o755)
    work = place / "w"
    sh(work, f"""
        git init -q -b main sub; cd sub; echo 1 > s; git add s; git commit -qm s
        git config core.fsmonitor {traps}/submodule; git config filter.bad.clean {traps}/submodule
        echo 's filter=bad' > .git/info/attributes; echo 2 > s; cd ..
        git -c advice.addEmbeddedRepo=false add sub; git commit -qm sub
        for n in 1 2 3 4; do echo $n > f$n; done; git add f*; git commit -qm two
        printf '* diff=bad filter=bad\\nf1 filter=worse\\n' > .gitattributes
        echo 3 >> a; echo changed > f1; mkdir bin; cp {traps}/git bin/git; cp {traps}/ssh-planted bin/ssh
    """)
    hooks = work / ".git" / "hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "pre-commit", "post-checkout", "pre-push", "fsmonitor-watchman", "update"):
        shutil.copy(traps / "hook", hooks / name)
    config = ["[core]\n\trepositoryformatversion = 1\n\tuntrackedCache = true\n[extensions]\n\tpartialClone = lazy\n"]
    for name, keys in TRAPS.items():
        for key in keys:
            section, _, rest = key.partition(".")
            middle, _, last = rest.rpartition(".")
            shell = "!" if section == "alias" else ""
            title = f'[{section} "{middle}"]' if middle else f"[{section}]"
            config.append(f"{title}\n\t{last} = {shell}{traps / name}\n")
    config.append(f'[remote "lazy"]\n\turl = {place}/r.git\n\tpromisor = true\n\tuploadpack = {traps}/lazy\n')
    config.append(f'[filter "bad"]\n\trequired = true\n[filter "worse"]\n\trequired = true\n[log]\n\tshowSignature = true\n[core]\n\thooksPath = {hooks}\n')
    config.append('[status]\n\tsubmoduleSummary = true\n[submodule]\n\trecurse = true\n[diff]\n\tsubmodule = log\n')
    with open(work / ".git" / "config", "a", encoding="utf-8") as file:
        file.write("".join(config))
    return place


@pytest.mark.parametrize("check", EVERYTHING, ids=[next(iter(each)) for each in EVERYTHING])
def test_a_hostile_repository_runs_nothing(hostile, check, monkeypatch):
    """Whatever is asked of it, none of the programs that it names is started, before the call or after it."""
    monkeypatch.setenv("PATH", f"{hostile}/w/bin:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"{hostile}/traps/external")
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{hostile}/traps/ssh")
    got, found = state(hostile, check)
    assert os.listdir(hostile / "marks") == [], found
    assert got in ("verified", "refuted", "unverified")


@pytest.mark.parametrize("url", ["ssh://127.0.0.1:1/x.git", "127.0.0.1:x.git", "https://127.0.0.1:1/x.git", "git://127.0.0.1:1/x", "ext::{}/traps/vcs", "vcs::x"])
def test_a_hostile_remote_runs_nothing(hostile, url):
    """Nor are the programs of a remote: the URL is asked from outside of the repository."""
    sh(hostile / "w", f"cd {hostile} && printf '[remote \"origin\"]\\n\\tpushurl = {url.format(hostile)}\\n\\tvcs = vcs\\n' >> w/.git/config")
    got, found = state(hostile, {"pushed": True})
    assert got == "unverified" and os.listdir(hostile / "marks") == [], found


def test_a_missing_object_is_not_fetched(hostile):
    """A partial clone fetches what is missing, by a program that its configuration names; here it does not."""
    work = hostile / "w"
    head = subprocess.run(["git", "-C", str(hostile / "r.git"), "rev-parse", "main"], capture_output=True, text=True)
    (work / ".git" / "refs" / "heads" / "gone").write_text("0" * 39 + "1\n")
    assert head.returncode == 0
    for check in ({"ancestor": ["refs/heads/gone", "HEAD"]}, {"ref": "refs/heads/gone", "at": "HEAD"}):
        assert state(hostile, check)[0] in ("unverified", "refuted")
    assert os.listdir(hostile / "marks") == []


def test_a_remote_that_would_fetch_is_not_asked(hostile):
    """A folder of this machine that is a partial clone is no remote to be asked: it would start what it names."""
    with open(hostile / "r.git" / "config", "a", encoding="utf-8") as file:
        file.write(f'[extensions]\n\tpartialClone = lazy\n[remote "lazy"]\n\turl = .\n\tpromisor = true\n\tuploadpack = {hostile}/traps/lazy\n')
    (hostile / "r.git" / "refs" / "tags" / "v1").write_text("0" * 39 + "1\n")
    for url in (f"{hostile}/r.git", f"file://{hostile}/r.git"):
        got, found = state(hostile, {"pushed": True, "remote": url, "refspec": "main:refs/tags/v1"})
        assert got == "unverified" and "partial clone" in found
    assert os.listdir(hostile / "marks") == []


def test_the_traps_do_snap(hostile):
    """The hostile repository is one: plain git runs what it names."""
    sh(hostile / "w", "git status; git -c filter.bad.required=false -c filter.worse.required=false log -p --ext-diff -1; git ls-remote origin; git cat-file -p 0000000000000000000000000000000000000001", check=False)
    assert {"fsmonitor", "filter", "external", "pack", "lazy"} <= set(os.listdir(hostile / "marks")), os.listdir(hostile / "marks")


def test_a_filter_that_cannot_be_switched_off_is_no_verdict(place):
    """A name with = would end the key on the command line too early."""
    mark = place / "mark"
    with open(place / "w" / ".git" / "config", "a", encoding="utf-8") as file:
        file.write(f'[filter "a=b"]\n\tclean = touch {mark}\n')
    (place / "w" / ".git" / "info").mkdir(exist_ok=True)
    (place / "w" / ".git" / "info" / "attributes").write_text("* filter=a=b\n")
    (place / "w" / "a").write_text("9\n")
    assert state(place, {"clean": "tracked"})[0] == "unverified" and not mark.exists()


def test_what_a_filter_would_change_is_no_verdict(place):
    """A file that differs only by a filter that is not run is not called changed, nor unchanged."""
    sh(place / "w", """
        git config filter.up.clean 'tr a-z A-Z'; echo 'f filter=up' > .gitattributes
        echo abc > f; git add .; git commit -qm f; touch -d 2001-01-01 f
    """)
    got, found = state(place, {"clean": "tracked"}, before=False)
    assert got == "unverified" and "filter" in found
    (place / "w" / "a").write_text("9\n")
    assert state(place, {"clean": "tracked"}, before=False)[0] == "refuted"


@pytest.mark.parametrize("refspec", ["main", "v1"])
def test_what_the_remote_had_before_is_vacuous(place, refspec):
    """A branch by its tracking ref, a tag by the remote's own word before the call: the push brought nothing."""
    sh(place / "w", "git tag v1; git push -q origin v1")
    got, found = state(place, {"pushed": True, "refspec": refspec})
    assert got == "unverified" and "before the call already" in found


def test_a_remote_that_says_nothing_is_no_verdict(place):
    """A server that accepts and never answers costs the time of one look, and proves nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"git://127.0.0.1:{server.getsockname()[1]}/x"
        began = time.monotonic()
        got, found = state(place, {"pushed": True, "remote": url}, timeout="600ms", before=False)
        assert got == "unverified" and "did not end within" in found and time.monotonic() - began < 15


class Locked(http.server.BaseHTTPRequestHandler):
    """A server that wants a password."""

    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.headers.get("Authorization", ""))
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


def test_the_persons_own_credentials_are_used_and_the_repositorys_helpers_are_not(place):
    """A remote that wants a password gets the person's; no helper of the repository is started, nobody is asked."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Locked)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, mark = f"http://127.0.0.1:{server.server_address[1]}", place / "theirs.ran"
    helper = "!f() { echo username=me; echo password=mine; }; f"
    (place / "home" / ".gitconfig").write_text(f'[credential "{url}"]\n\thelper = "{helper}"\n')
    with open(place / "w" / ".git" / "config", "a", encoding="utf-8") as file:
        file.write(f'[credential]\n\thelper = "!touch {mark}"\n[credential "{url}"]\n\thelper = "!touch {mark}"\n')
    try:
        got, found = state(place, {"pushed": True, "remote": f"{url}/x.git"})
    finally:
        server.shutdown()
        server.server_close()
    assert got == "unverified" and "could not be asked" in found
    assert any(value.startswith("Basic ") for value in Locked.asked) and not mark.exists()


def test_the_persons_own_ssh_is_used_and_the_repositorys_is_not(place, monkeypatch):
    """A command that the person's own configuration names is started, and must not ask; the repository's is not."""
    own, theirs = place / "own", place / "theirs"
    for path in (own, theirs):
        path.write_text(f"#!/bin/sh\necho \"$*\" > {path}.ran\n")
        path.chmod(0o755)
    (place / "home" / ".gitconfig").write_text(f"[core]\n\tsshCommand = {own}\n")
    sh(place / "w", f"git config core.sshCommand {theirs}; git config remote.origin.url host.invalid:x.git")
    got, _ = state(place, {"pushed": True}, "git commit -q --allow-empty -m two")
    assert got == "unverified"
    assert "BatchMode=yes" in (place / "own.ran").read_text() and not (place / "theirs.ran").exists()


def test_the_real_hook_looks_before_and_after(place):
    """Through the hook process: the look before is kept, and the push that did not happen is refused."""
    from truecall_py.core import paths
    from truecall_py.trust.pin import compile_file, trust

    contract, states = place / "w" / "truecall.yaml", place / "state"
    contract.write_text("version: 1\nuse: [git]\ncontracts: []\n")
    trust(compile_file(str(contract)), str(states))
    env = {**{name: os.environ[name] for name in ("PATH", "HOME")}, "TRUECALL_PYTHON": sys.executable,
           "CLAUDE_PROJECT_DIR": str(place / "w")}  # fmt: skip

    def hook(event, **more):
        payload = {
            "session_id": "00000000-0000-4000-8000-00000000000a", "hook_event_name": event, "tool_name": "Bash",
            "tool_use_id": "toolu_1", "cwd": str(place / "w"), "tool_input": {"command": "git commit -m two"},
            "transcript_path": "/nowhere", "permission_mode": "default", **more,
        }  # fmt: skip
        command = ["/bin/sh", paths.find_launcher(), "claude-code", event, "--state", str(states)]
        done = subprocess.run(command, cwd=place / "w", env=env, input=json.dumps(payload).encode(), capture_output=True)
        assert done.returncode == 0
        return done.stdout

    sh(place / "w", "echo 2 > a; git add a")
    assert hook("PreToolUse") == b""
    answer = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
    assert json.loads(hook("PostToolUse", tool_response=answer))["decision"] == "block"
    sh(place / "w", "git commit -qm two")
    assert hook("PostToolUse", tool_response=answer) == b""
