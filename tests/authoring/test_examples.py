"""`truecall test`: the examples that contracts carry, run by the real command; and those of every shipped pack."""

from __future__ import annotations

import json
import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

from truecall_py.authoring import examples, sandbox
from truecall_py.authoring.sandbox import SmallWorld
from truecall_py.core import paths
from truecall_py.core.errors import UsageError
from truecall_py.world import process_table

PACKS = sorted(path.stem for path in Path(paths.find_packs_folder()).glob("*.yaml"))

CONTRACTS = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.title}}.md", contains: "{{args.body}}"}}
    examples:
      - title: saved
        payload: &call
        world: {files: {notes/a.md: "hello\\n"}}
        verdict: verified
      - title: not saved
        payload: &call
        verdict: refuted
      - title: another tool
        payload: {tool_name: mcp__notes__other, tool_input: {}}
        verdict: none
      - title: without its text
        payload: {tool_name: mcp__notes__save_note, tool_input: {title: a}}
        verdict: unverified
  - id: bare
    tool: mcp__notes__other
    post: {result: {path: id, exists: true}}
""".replace("&call", "{tool_name: mcp__notes__save_note, tool_input: {title: a, body: hello}, tool_response: saved}")


def contract(post: str, *rows: str, more: str = "") -> str:
    """A contract file about `make`, with its examples."""
    head = 'version: 1\ncontracts:\n  - id: made\n    kind: shell\n    when: {args.command: {runs: "make *"}}\n'
    return f"{head}    post: {post}\n{more}    examples:\n" + "".join(f"      - {{title: t, {row}}}\n" for row in rows)


MAKE = "payload: {tool_input: {command: make all}}"


@pytest.mark.parametrize("pack", PACKS)
def test_the_examples_of_a_shipped_pack_hold(project: Any, pack: str) -> None:
    """Every shipped contract has examples, among them one that it refuses and one that it leaves alone; all hold."""
    done = project.command("test", "--require", "--pack", pack)
    assert done.returncode == 0, done.stdout + done.stderr
    for entry in yaml.safe_load((Path(paths.find_packs_folder()) / f"{pack}.yaml").read_text(encoding="utf-8"))["contracts"]:
        found = [example["verdict"] for example in entry["examples"]]
        assert {"refuted", "none"} <= set(found) and len(found) >= 3, entry["id"]


def test_all_as_written(project: Any) -> None:
    """Verified, refuted, unverified and none are compared with what is written; contracts without examples are named."""
    project.write("truecall.yaml", CONTRACTS)
    done = project.command("test")
    assert done.returncode == 0, done
    assert "note-saved  4 examples" in done.stdout and "bare  no examples" in done.stdout
    assert "2 contracts, 4 examples: 4 passed; 1 contract without examples" in done.stdout
    assert project.command("test", "--require").returncode == 1
    assert project.command("test", "--require", "--contract", "note-saved").returncode == 0


def test_a_verdict_that_is_another_is_shown_with_its_place_and_what_was_found(project: Any) -> None:
    """Exit code 1; file, line, title, both verdicts and both phrases, in 80 columns and without a temporary path."""
    text = CONTRACTS.replace("verdict: refuted", "verdict: verified")
    project.write("truecall.yaml", text)
    done = project.command("test", env={"COLUMNS": "80"})
    assert done.returncode == 1
    line = text.splitlines().index("      - title: not saved") + 1
    for words in (f"truecall.yaml:{line}: not saved", "expected verified", "got      refuted", "nothing at @WORLD@/notes/a.md",
                  "FAIL", "3 of 4 examples passed", "3 passed, 1 failed"):  # fmt: skip
        assert words in done.stdout, done.stdout
    assert all(len(row) <= 80 for row in done.stdout.splitlines()) and "\x1b[" not in done.stdout


DEPLOY = """\
version: 1
contracts:
  - id: deploy
    tool: mcp__ops__deploy
    requires: tests-green
    examples:
      - {title: not tested, payload: {tool_name: mcp__ops__deploy, tool_input: {}}, verdict: refuted}
      - {title: tested, payload: {tool_name: mcp__ops__deploy, tool_input: {}}, verified: tests-green, verdict: verified}
"""


def test_an_example_is_all_of_its_session(project: Any) -> None:
    """What `requires` asks for was verified where `verified` names it, and was not where nothing is named: a guard's
    refusal can be written down as well as its leave."""
    project.write("truecall.yaml", DEPLOY)
    done = project.command("test")
    assert done.returncode == 0, done.stdout + done.stderr


def test_json_and_junit_hold_every_example(project: Any) -> None:
    """Both forms name contract, example, line and what was found, and end with the same exit code."""
    project.write("truecall.yaml", CONTRACTS.replace("verdict: refuted", "verdict: verified"))
    done = project.command("test", "--format", "json")
    saved, bare = json.loads(done.stdout)
    assert (done.returncode, [each["holds"] for each in saved["examples"]]) == (1, [True, False, True, True])
    wrong = saved["examples"][1]
    assert (wrong["expected"], wrong["got"], wrong["checks"][0]["check"]) == ("verified", "refuted", "file_exists")
    assert bare["examples"] == []
    done = project.command("test", "--format", "junit")
    suite = ElementTree.fromstring(done.stdout)
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "1", "0", "1"]


def test_exit_codes_of_what_cannot_be_tested(project: Any) -> None:
    """2 where nothing is named, 3 for a file that cannot be used (the others are tested all the same), 1 where no
    example was run: silence is no success."""
    assert project.command("test").returncode == 2
    assert project.command("test", "none.yaml").returncode == 2
    assert project.command("test", "--pack", "none").returncode == 2
    project.write("broken.yaml", "version: 1\ncontracts:\n  - id: a\n")
    project.write("good.yaml", CONTRACTS)
    assert project.command("test", "good.yaml", "--contract", "none").returncode == 2
    done = project.command("test", "good.yaml", "broken.yaml")
    assert done.returncode == 3 and "4 passed" in done.stdout and "broken.yaml:3:5: TC110" in done.stderr
    assert project.command("test", ".").returncode == 3
    project.write("bare.yaml", CONTRACTS.split("    examples:")[0])
    done = project.command("test", "bare.yaml")
    assert done.returncode == 1 and "nothing ran" in done.stdout and "-> add `examples:` to a contract" in done.stdout


def test_a_misspelt_key_of_an_example_is_an_error_of_the_file(project: Any) -> None:
    """`lint` and `test` name the place, the key, and what was meant."""
    project.write("truecall.yaml", CONTRACTS.replace("world: {files:", "world: {file:"))
    done = project.command("test")
    assert done.returncode == 3 and "TC101" in done.stderr and "files" in done.stderr
    assert project.command("lint").returncode == 1


def test_the_look_before_the_call(project: Any) -> None:
    """With `before`, the world is looked at as the hook does before a call: what was there all along proves nothing."""
    post = '{file_exists: {path: "{{project}}/out"}}'
    rows = (
        f"{MAKE}, before: {{}}, world: {{files: {{out: x}}}}, verdict: verified",
        f"{MAKE}, before: {{files: {{out: x}}}}, verdict: unverified",
        f"{MAKE}, before: {{files: {{out: x}}}}, world: {{files: {{out: x}}}}, verdict: verified",
        f"{MAKE}, before: {{files: {{out: x}}}}, world: {{gone: [out]}}, verdict: refuted",
        f"{MAKE}, world: {{files: {{out: x}}}}, verdict: verified",
    )
    project.write("truecall.yaml", contract(post, *rows))
    done = project.command("test")
    assert done.returncode == 0, done.stdout


def test_everything_that_a_world_may_hold(project: Any) -> None:
    """Files, bytes, links, modes, folders, a repository, lines of sh, pages; placeholders stand in every text."""
    probe = (
        'test "$(cat a/b)" = "$PWD" && test "$(od -An -tx1 c)" = " 00 ff" && test "$(readlink d)" = a/b &&'
        ' test -x a/b && test -d e && test "$(git log --format=%s)" = start && test -f f && test -f "$HOME/.g"'
    )
    world = (
        '{files: {a/b: "@WORLD@", "@HOME@/.g": x}, bytes: {c: 00ff}, links: {d: a/b}, modes: {a/b: "0755"},'
        ' folders: [e], repository: true, setup: ["touch f", "echo @PORT@ >port"], serve: {/health: [200, {}, "ok"]}}'
    )
    post = f"""
      - command: {{run: [sh, -c, '{probe}']}}
      - http_status: {{url: "https://api.example.com/health", body: ok}}
      - not: {{http_status: {{url: "http://localhost:8080/metrics"}}}}
"""
    project.write("truecall.yaml", contract(post, f"{MAKE}, world: {world}, verdict: verified", more=""))
    done = project.command("test")
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_address_but_the_examples_own_is_asked(project: Any) -> None:
    """Whatever host a contract names, an example without pages finds nobody there, at once."""
    post = '{http_status: {url: "https://203.0.113.1/health"}}'
    project.write("truecall.yaml", contract(post, f"{MAKE}, verdict: refuted", more="    within: 1m\n"))
    began = time.monotonic()
    done = project.command("test")
    assert done.returncode == 0, done.stdout
    assert time.monotonic() - began < 10


def test_nothing_of_the_persons_is_seen_or_touched(project: Any) -> None:
    """An example's home, state, git identity and environment are its own, and nothing stays behind."""
    project.write(os.path.join(project.home, ".gitconfig"), "[user]\nname = Me\n")
    probe = 'test "$(git config user.name)" != Me && test -z "$SECRET" && test "$HOME" != "$1" && touch ~/x'
    post = f"""{{command: {{run: [sh, -c, '{probe}', sh, "{project.home}"]}}}}"""
    row = f"{MAKE}, world: {{setup: 'test -z \"$SECRET\"; touch ~/y'}}, verdict: verified"
    project.write("truecall.yaml", contract(post, row))
    done = project.command("test", env={"SECRET": "s", "TMPDIR": project.folder("tmp")})
    assert done.returncode == 0, done.stdout
    assert sorted(os.listdir(project.home)) == [".gitconfig"] and os.listdir(project.folder("tmp")) == []
    assert not os.path.exists(project.state)


@pytest.mark.parametrize(("world", "words"), [
    ("files: {../../x: a}", "outside"),
    ("files: {/etc/x: a}", "outside"),
    ("links: {a: /}, files: {a/tmp/x: a}", "outside"),
    ("links: {a: /nowhere/x}, files: {a: x}", "link"),
    ("links: {a: /nowhere}, modes: {a: '0777'}", "link"),
    ("links: {.git: /nowhere}, repository: true", ".git"),
    ("files: {.git: 'gitdir: /nowhere'}, repository: true", ".git"),
    ("links: {.git/objects: /nowhere}, repository: true", "link"),
    ("setup: kill -9 $PPID", "its own shell"),
    ("bytes: {a: xyz}", "cannot be built"),
    ("gone: [a]", "is not there"),
    ("setup: echo no such tool >&2; exit 3", "exit code 3: no such tool"),
])  # fmt: skip
def test_a_world_that_cannot_be_built_is_no_verdict(project: Any, world: str, words: str) -> None:
    """The example fails with the reason, whatever verdict it wants; nothing outside its folder is written."""
    project.write("truecall.yaml", contract("{file_exists: {path: a}}", f"{MAKE}, world: {{{world}}}, verdict: refuted"))
    done = project.command("test", env={"COLUMNS": "200"})
    assert done.returncode == 1 and "error" in done.stdout and words in " ".join(done.stdout.split()), done.stdout


def test_modes_are_never_changed_through_a_link(project: Any) -> None:
    """A link to a person's own file may stand in a world; the file keeps its mode and its content."""
    own = project.write("own.txt", "mine")
    os.chmod(own, 0o640)
    rows = [f"{MAKE}, world: {{links: {{a: {str(own)!r}}}{more}}}, verdict: verified" for more in (", modes: {a: '0777'}", "")]
    project.write("truecall.yaml", contract("{file_exists: {path: a}}", *rows))
    done = project.command("test")
    assert done.returncode == 1 and "1 passed, 1 failed" in done.stdout, done.stdout
    assert os.stat(own).st_mode & 0o777 == 0o640 and Path(own).read_text() == "mine"


@pytest.mark.parametrize("ruin", [
    "rm -rf ../world ../home", "rm -rf ../tmp ../world", "echo \0", "rm -rf ../world; ln -s /nowhere ../world",
])  # fmt: skip
def test_an_example_that_ruins_its_own_world_fails_alone(project: Any, ruin: str) -> None:
    """No bug of truecall's: that example could not be run, and the one after it is judged."""
    good = f"{MAKE}, world: {{files: {{a: a}}}}, verdict: verified"
    bad = f"{MAKE}, before: {{setup: {json.dumps(ruin)}}}, verdict: verified"
    project.write("truecall.yaml", contract("{file_exists: {path: a}}", bad, good))
    done = project.command("test")
    assert done.returncode == 1 and "1 passed, 1 failed" in done.stdout, done.stdout + done.stderr
    assert "bug" not in done.stderr


def test_setup_is_bounded_and_what_it_started_ends_with_its_world(tmp_path: Any, monkeypatch: Any) -> None:
    """A process that `setup` leaves running serves its example, and is gone when the example is over."""
    world = SmallWorld(str(tmp_path))
    try:
        world.build({"setup": "sleep 300 & echo $! >pid; echo ready"})
        pid = int(Path(world.folder, "pid").read_text())
        os.kill(pid, 0)
        monkeypatch.setattr(sandbox, "PATIENCE", 0.3)
        with pytest.raises(UsageError, match="did not end"):
            world.build({"setup": "sleep 300"})
    finally:
        world.close()
    until = time.monotonic() + 5
    while running(pid):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="what left its group is found in /proc alone")
@pytest.mark.parametrize("start", ["setsid sleep 301", "cd /; exec setsid sleep 301", "exec env -i setsid sleep 301"])
def test_what_left_its_process_group_ends_with_its_world(tmp_path: Any, start: str) -> None:
    """A daemon is known by its variable or by its folder; what ran before, in that folder or not, is let be."""
    root = tmp_path / "root"
    root.mkdir()
    bystander = subprocess.Popen(["sleep", "302"], cwd=root)
    world = SmallWorld(str(root))
    try:
        world.build({"setup": f"({start}) & sleep 0.3"})
        ours = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if sleeps(pid, "301", world)]
        assert len(ours) == 1
        world.close()
        until = time.monotonic() + 5
        while running(ours[0]):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert bystander.poll() is None
    finally:
        world.close()
        bystander.kill()
        bystander.wait()


def sleeps(pid: int, seconds: str, world: SmallWorld) -> bool:
    """Whether a process is the sleep of this world, and not that of another test run."""
    return process_table.read_text(f"/proc/{pid}/cmdline") == f"sleep\0{seconds}\0" and (
        world.root in process_table.read_text(f"/proc/{pid}/environ") or os.readlink(f"/proc/{pid}/cwd") == world.folder
    )


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return os.path.isdir("/proc/self") is False and alive(pid)
    return state != "Z"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def test_the_code_that_a_contract_names_is_there(project: Any) -> None:
    """A custom check and a schema beside the contract file are copied into the example's world, and run from there."""
    project.write("checks/made.py", "def made(call):\n    return call['project'] + '/checks/made.py' == __file__\n")
    post = '{custom: {python: "checks/made.py:made"}}'
    project.write("truecall.yaml", contract(post, f"{MAKE}, verdict: verified"))
    done = project.command("test")
    assert done.returncode == 0, done.stdout


def test_a_payload_of_another_harness(project: Any) -> None:
    """`harness` completes the payload as that harness sends it; a failure of its own needs no more than its words."""
    rows = (
        "harness: codex, payload: {tool_input: {command: make all}}, verdict: unverified",
        "harness: gemini-cli, payload: {tool_input: {command: make all}, tool_response: {llmContent: ''}}, verdict: unverified",
        "payload: {hook_event_name: PostToolUseFailure, tool_input: {command: make all}, error: 'Exit code 2'}, verdict: refuted",
        f"{MAKE}, verdict: verified",
    )
    project.write("truecall.yaml", contract("{result: {of: exit_code, equals: 0}}", *rows))
    done = project.command("test")
    assert done.returncode == 0, done.stdout
    project.write("truecall.yaml", contract("{result: {of: exit_code, equals: 0}}", f"harness: nobody, {MAKE}, verdict: none"))
    done = project.command("test")
    assert done.returncode == 1 and "nobody" in done.stdout


def test_examples_never_reach_the_hook(project: Any) -> None:
    """The compiled form that is trusted holds no example: they cost a tool call nothing."""
    from truecall_py.trust import pin

    compiled = pin.compile_file(project.write("truecall.yaml", CONTRACTS))
    assert [plain.get("examples") for plain in compiled.contracts] == [None, None]


def test_waiting_is_cut_short() -> None:
    """Nothing in a small world takes long: `within` and `stable_for` are a second or less there."""
    assert max(examples.LONGEST.values()) <= 1.0


def test_git_stays_on_this_machine(project: Any) -> None:
    """Neither `setup` nor a check reaches a remote by the network, whatever the example or the contract names."""
    line = 'if git ls-remote https://203.0.113.1/x.git 2>err; then exit 1; fi; grep -q "not allowed" err'
    post = f"{{command: {{run: [sh, -c, '{line}']}}}}"
    project.write("truecall.yaml", contract(post, f"{MAKE}, world: {{setup: '{line}'}}, verdict: verified"))
    done = project.command("test")
    assert done.returncode == 0, done.stdout
