"""`truecall record`: a captured call becomes a first contract that lints and verifies the very call, and that catches the
same call where it lies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from typing import Any

import pytest
import yaml
from support.case import Server

from truecall_py.authoring import append_contract, changed_files, shell_commands
from truecall_py.contract_files import loader
from truecall_py.core.errors import UsageError


def payload_file(project: Any, plain: dict[str, Any], name: str = "../call.json") -> str:
    return project.write(name, json.dumps(plain))


def recorded(project: Any, plain: dict[str, Any], *options: str) -> tuple[dict[str, Any], Any]:
    """(the contract, the finished process); what is printed must lint, and verify the call."""
    path = payload_file(project, plain)
    done = project.command("record", path, *options)
    assert done.returncode == 0, done
    assert loader.find_problems(done.stdout.encode(), "truecall.yaml") == [], done.stdout
    contracts = project.write("recorded.yaml", done.stdout)
    judged = project.command("verify", "--require-match", "--contracts", contracts, path)
    os.unlink(contracts)
    assert judged.returncode == 0, judged.stdout
    (entry,) = yaml.safe_load(done.stdout)["contracts"]
    return entry, done


def note(project: Any, answer: Any = "saved", args: dict[str, Any] | None = None) -> dict[str, Any]:
    plain = project.mcp(args=args or {"title": "weekly", "body": "hello there"})
    return {**plain, "tool_response": [{"type": "text", "text": answer if isinstance(answer, str) else json.dumps(answer)}]}


def test_a_file_that_the_call_made_is_named_by_its_arguments(project: Any) -> None:
    """Path and content become templates; the contract refuses the same call where the file is missing."""
    project.write("notes/weekly.md", "# weekly\nhello there\n")
    entry, done = recorded(project, note(project))
    assert entry["id"] == "notes-save-note" and entry["tool"] == "mcp__notes__save_note"
    assert entry["post"] == [{"file_exists": {"path": "{{project}}/notes/{{args.title}}.md", "contains": "{{args.body}}"}}]
    assert "hello there" not in done.stdout and "weekly" not in done.stdout
    contracts = project.write("recorded.yaml", done.stdout)
    os.unlink(os.path.join(project.root, "notes/weekly.md"))
    assert project.command("verify", "--contracts", contracts, payload_file(project, note(project))).returncode == 1


def test_each_line_is_explained(project: Any) -> None:
    """A comment stands above every check, and says what to make of it."""
    project.write("notes/weekly.md", "hello there\n")
    lines = recorded(project, note(project, {"ok": True, "id": 7}))[1].stdout.splitlines()
    checks = [number for number, line in enumerate(lines) if line.startswith("      - ")]
    assert len(checks) == 3 and all(lines[number - 1].startswith("      # ") for number in checks)


def test_fields_of_the_answer(project: Any) -> None:
    """Flags of success, the name of what was made, a status; a status that was an argument is a template."""
    answer = {"ok": True, "success": False, "id": 7, "user_id": "u1", "status": "open", "text": "x"}
    entry, _ = recorded(project, note(project, answer))
    assert entry["post"] == [
        {"result": {"path": "ok", "equals": True}},
        {"result": {"path": "id", "type": "integer"}},
        {"result": {"path": "user_id", "type": "string"}},
        {"result": {"path": "status", "equals": "open"}},
    ]
    entry, done = recorded(project, note(project, {"status": "open"}, {"to": "open"}))
    assert entry["post"] == [{"result": {"path": "status", "equals": "{{args.to}}"}}]


def test_a_path_among_the_arguments(project: Any) -> None:
    """A file or folder that an argument names is asked for; one that is not there is left out, and said."""
    project.write("data/a.csv", "1,2,3\n")
    args = {"path": "data/a.csv", "dir": "data/", "out_path": "nowhere.txt", "row": "1,2,3"}
    entry, done = recorded(project, note(project, "ok", args), "--since", "1ms")
    assert {"file_exists": {"path": "{{args.path}}", "contains": "{{args.row}}"}} in entry["post"]
    assert {"file_exists": {"path": "{{args.dir}}", "type": "dir"}} in entry["post"]
    assert "args.out_path names nothing that is there now" in done.stderr


def test_a_write_an_edit_and_a_patch(project: Any) -> None:
    """Built-in tools are named by their kind, so that the contract holds in every harness."""
    project.write("a.md", "hello\n")
    entry, _ = recorded(project, project.wrote("a.md", "hello\n"))
    assert (entry["kind"], "tool" in entry) == ("write", False)
    assert entry["post"] == [{"file_exists": {"path": "{{file.path}}", "not_lost": "{{file.content}}"}}]
    edit = project.payload("claude-code", "Edit", {"file_path": os.path.join(project.root, "a.md"), "old_string": "x", "new_string": "hello"})
    assert recorded(project, edit)[0]["post"] == [{"file_exists": {"path": "{{file.path}}"}}]
    patch = "*** Begin Patch\n*** Add File: b.md\n+b\n*** Delete File: c.md\n*** End Patch\n"
    project.write("b.md", "b\n")
    entry, _ = recorded(project, project.payload("codex", "apply_patch", {"command": patch}, "Success"))
    assert {"file_absent": {"path": "{{file.path}}"}} in entry["post"] and set(entry["kind"]) >= {"write", "delete"}


@pytest.mark.parametrize(("command", "made", "pattern", "post"), [
    ("mkdir -p a/b c", ["a/b/x", "c/x"], "mkdir [-pv] [--parents] {dir...}", {"file_exists": {"path": "{{match.dir}}", "type": "dir"}}),
    ("export A=1; touch a", ["a"], "touch {file...}", {"file_exists": {"path": "{{match.file}}", "type": "any"}}),
    ("rm -rf gone", [], "rm [-rRfv] [--recursive] [--force] {path...}", {"file_absent": {"path": "{{match.path}}", "vacuous": "ok"}}),
    ("mv a b", ["b"], "mv [-fnv] {source} {target}", {"file_exists": {"path": "{{match.target}}", "type": "any"}}),
    ("make", ["build/app"], "make", {"file_exists": {"path": "{{project}}/build/app", "min_size": 1}}),
    ("npm run build -- --fast", ["dist/x.js"], "npm run build *", {"file_exists": {"path": "{{project}}/dist/x.js", "min_size": 1}}),
    ("pandoc in.md -o out.pdf", ["out.pdf"], "pandoc * -o {file} *", {"file_exists": {"path": "{{match.file}}", "min_size": 1}}),
    ("true; git fetch origin", [], "git fetch *", {"result": {"of": "exit_code", "equals": 0}}),
])  # fmt: skip
def test_a_shell_command(project: Any, command: str, made: list[str], pattern: str, post: dict[str, Any]) -> None:
    """Found again by the parsed command, its operands captured; what it left behind is asked for."""
    for name in made:
        project.write(name, "x")
    entry, _ = recorded(project, project.bash(command))
    assert (entry["kind"], entry["when"]) == ("shell", {"args.command": {"runs": pattern}})
    assert entry["post"][0] == post


def test_a_git_command(project: Any) -> None:
    """What git says it did is asked of the repository; what does not hold is not replaced by something weaker."""
    script = "git init -q -b main . && echo 1 > a && git add a && git commit -qm one && git tag v1 && git checkout -qb x"
    quiet = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
    subprocess.run(["sh", "-c", script], cwd=project.root, env={**project.env, **quiet}, check=True)
    for command, post in (
        ("git commit -m one", {"git": {"commit": "made"}}),
        ("git tag v1", {"git": {"ref": "refs/tags/{{match.name}}"}}),
        ("git checkout -b x", {"git": {"branch": "{{match.name}}"}}),
    ):
        entry, _ = recorded(project, project.bash(command, duration_ms=60_000))
        assert (entry["post"], entry["vacuous"]) == ([post], "ok")
    done = project.command("record", payload_file(project, project.bash("git push")))
    assert done.returncode == 2 and "the remote could not be asked" in done.stderr
    done = project.command("record", payload_file(project, project.bash("mkdir nowhere")))
    assert done.returncode == 2 and "nothing at" in done.stderr


def test_a_file_that_a_command_names_where_nothing_captures_it_is_left_out(project: Any) -> None:
    """It would be asked for after every other call of that command."""
    project.write("x.bin", "x")
    entry, done = recorded(project, project.bash("gen --out=x.bin"))
    assert entry["post"] == [{"result": {"of": "exit_code", "equals": 0}}]
    assert "x.bin" in done.stderr and "x.bin" not in done.stdout


def test_an_address_among_the_arguments(project: Any) -> None:
    """A loopback address that answers is asked again, for that address alone; any other is never asked."""
    server = Server({"/health": [200, {}, "{}"]})
    try:
        url = f"http://127.0.0.1:{server.port}/health"
        entry, done = recorded(project, note(project, "ok", {"url": url, "hook": "https://203.0.113.1/x?token=s"}))
    finally:
        server.close()
    assert entry["when"] == {"args.url": {"equals": url}} and entry["post"] == [{"http_status": {"url": url}}]
    assert "args.hook is an address elsewhere" in done.stderr


def test_files_are_taken_for_the_calls_doing_by_their_time_or_by_a_copy(project: Any) -> None:
    """Without options: changed while the call ran. --since: in the last so long. --before: other than in the copy."""
    old = project.write("old.txt", "x")
    os.utime(old, (time.time() - 600, time.time() - 600))
    call = payload_file(project, note(project))
    assert project.command("record", call).returncode == 2
    done = project.command("record", call, "--since", "20m")
    assert done.returncode == 0 and "{{project}}/old.txt" in done.stdout and "is it always this one" in done.stdout
    copy = os.path.join(project.base, "copy")
    shutil.copytree(project.root, copy)
    assert project.command("record", call, "--before", copy).returncode == 2
    project.write("new.txt", "y")
    os.utime(os.path.join(project.root, "new.txt"), (1, 1))
    os.unlink(old)
    done = project.command("record", call, "--before", copy)
    post = yaml.safe_load(done.stdout)["contracts"][0]["post"]
    assert [next(iter(each.values()))["path"] for each in post] == ["{{project}}/new.txt", "{{project}}/old.txt"]
    assert post[1] == {"file_absent": {"path": "{{project}}/old.txt", "vacuous": "ok"}}
    for options in (("--since", "soon"), ("--since", "0s"), ("--before", "none"), ("--before", copy, "--since", "1m")):
        assert project.command("record", call, *options).returncode == 2, options


def test_what_disappears_or_cannot_be_read_is_passed_over(project: Any, monkeypatch: Any) -> None:
    """A file that goes while the folder is looked at, and the kernel's own files, are no reason to stop."""
    call = {**note(project), "cwd": "/proc" if os.path.isdir("/proc/self") else "/dev"}
    done = project.command("record", payload_file(project, call), "--since", "10m")
    assert done.returncode in (0, 2) and "bug" not in done.stderr, done.stderr
    for name in ("a", "b", "c"):
        project.write(f"many/{name}.txt", "x")
    real = os.scandir

    class Entry:
        def __init__(self, entry: Any) -> None:
            self.name, self.is_dir, self.is_file = entry.name, entry.is_dir, entry.is_file
            self.stat = entry.stat if entry.name != "b.txt" else lambda **_: os.stat("/nowhere")

    class Listing:
        def __init__(self, path: str) -> None:
            self.found = real(path)

        def __enter__(self) -> Any:
            return map(Entry, self.found)

        def __exit__(self, *_: Any) -> None:
            self.found.close()

    monkeypatch.setattr(changed_files.os, "scandir", Listing)
    assert sorted(name for name, _ in changed_files.walk_files(project.root) if name.startswith("many")) == ["many/a.txt", "many/c.txt"]
    assert (changed_files.read_text("/nowhere"), changed_files.find_file_size("/nowhere")) == ("", 0)


def test_nothing_derived_is_an_error_that_says_what_was_looked_at(project: Any) -> None:
    """No contract that asserts nothing is ever printed; neither is one of a call that failed or is not finished."""
    done = project.command("record", payload_file(project, note(project)))
    assert (done.returncode, done.stdout) == (2, "") and "there is nothing to check" in done.stderr and "->" in done.stderr
    failed = project.failed("mcp__notes__save_note", {"title": "a"}, "no such notebook")
    assert "failed by its own report" in project.command("record", payload_file(project, failed)).stderr
    background = project.bash("make", response={"backgroundTaskId": "1"})
    assert "background" in project.command("record", payload_file(project, background)).stderr
    assert project.command("record", payload_file(project, project.bash("if a; then make; fi"))).returncode == 2
    start = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": project.root}
    assert project.command("record", payload_file(project, start)).returncode == 2
    assert project.command("record", project.write("../broken.json", "{")).returncode == 3
    assert project.command("record", "none.json").returncode == 2


def test_what_does_not_hold_now_is_left_out_and_said(project: Any) -> None:
    """A tool that lied is not recorded as if it had not."""
    done = project.command("record", payload_file(project, project.wrote("a.md", "hello\n")))
    assert done.returncode == 2 and "does not hold now: nothing at" in done.stderr


def test_a_name_in_another_spelling_is_no_template(project: Any) -> None:
    """The title is in the file's name, but as no template can say: a literal would be wrong for every other call."""
    project.write("notes/my-weekly-note.md", "hello there\n")
    plain = note(project, {"ok": True}, {"title": "My weekly note", "body": "hello there"})
    entry, done = recorded(project, plain)
    assert entry["post"] == [{"result": {"path": "ok", "equals": True}}] and "spelling" in done.stderr


def test_standard_input(project: Any) -> None:
    """- is the payload, so that a call can be recorded from a pipe."""
    project.write("notes/weekly.md", "hello there\n")
    done = project.command("record", "-", "--id", "My Note", stdin=None, input=json.dumps(note(project)))
    assert done.returncode == 0 and "- id: my-note" in done.stdout, done


# -- --add ------------------------------------------------------------------------------------------------

LINES = ["  # new", "  - id: new", "    tool: x", "    post:", "      - result: {path: id, exists: true}"]
OLD = "- id: old\n    tool: other\n    post: {result: {path: id, exists: true}}"
FILES = {
    "plain": f"version: 1\ncontracts:\n  {OLD}\n",
    "comments": f"# top\nversion: 1 # one\n\ncontracts: # all\n  # about\n  {OLD} # end\n    # inside\n\n# bottom\n",
    "more keys": f"version: 1\ncontracts:\n  {OLD}\n\n# the mode\nmode: observe\n# end\n",
    "no indent": "version: 1\ncontracts:\n- id: old\n  tool: other\n  post: {result: {path: id, exists: true}}\nmode: observe\n",
    "deep indent": "version: 1\ncontracts:\n      - id: old\n        tool: other\n        post: {result: {path: id, exists: true}}\n",
    "dash alone": "version: 1\ncontracts:\n  -\n    id: old\n    tool: other\n    post: {result: {path: id, exists: true}}\n",
    "no line end": f"version: 1\ncontracts:\n  {OLD}",
    "crlf": f"version: 1\ncontracts:\n  {OLD}\nmode: observe\n".replace("\n", "\r\n"),
    "packs alone": "version: 1\nuse: [files]\n",
    "empty list": "version: 1\nuse: [files]\ncontracts: [] # none yet\nmode: enforce\n",
    "block scalar": "version: 1\ncontracts:\n  - id: old\n    tool: other\n    post: {result: {path: id, exists: true}}\n    remedy: |\n      # no comment\n\n      text\n\nmode: observe\n",
    "document end": f"---\nversion: 1\ncontracts:\n  {OLD}\n...\n",
    "bom": f"\ufeffversion: 1\ncontracts:\n  {OLD}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_contract_is_added_and_nothing_else_changes(name: str) -> None:
    """Every old line stands as it did, in its order; the new contract is the last; the file says no more than that."""
    old = FILES[name].encode()
    new = append_contract.append_contract(old, LINES, "truecall.yaml")
    ending = "\r\n" if name == "crlf" else "\n"
    assert append_contract.adds_one_contract(old, new)
    kept = iter(new.decode().split(ending))
    for line in FILES[name].split(ending):
        if not line.startswith("contracts: []"):
            assert line in kept, (line, new.decode())
    assert yaml.safe_load(new.decode().lstrip("\ufeff"))["contracts"][-1]["id"] == "new"
    assert (b"\r\n" in new) == (name == "crlf") and new.count(b"\r\n") in (0, new.count(b"\n"))
    if "# none yet" in FILES[name]:
        assert b"# none yet" in new


@pytest.mark.parametrize("text", [
    "version: 1\ncontracts: [{id: old, tool: other, post: {result: {path: id, exists: true}}}]\n",
    '{"version": 1, "contracts": [{"id": "old", "tool": "y", "post": {"result": {"path": "id", "exists": true}}}]}\n',
    "{version: 1, use: [files]}\n",
    f"version: 1\ncontracts:\n  {OLD.replace('old', 'new')}\n",
])  # fmt: skip
def test_where_it_cannot_be_added_nothing_is_changed(text: str) -> None:
    """Lists in brackets, JSON, an id that is taken: refused, with the way out."""
    with pytest.raises(UsageError, match="paste it"):
        append_contract.append_contract(text.encode(), LINES, "truecall.yaml")


def test_add_creates_a_file_and_adds_to_it(project: Any) -> None:
    """The file is made where there is none; the second contract of the same tool gets an id of its own; permissions
    and links stay."""
    project.write("notes/weekly.md", "hello there\n")
    call = payload_file(project, note(project))
    done = project.command("record", call, "--add", "truecall.yaml")
    assert done.returncode == 0 and "added to truecall.yaml" in done.stdout, done
    os.chmod(project.contract, 0o640)
    os.symlink("truecall.yaml", os.path.join(project.root, "link.yaml"))
    with open(project.contract, "a", encoding="utf-8") as file:
        file.write("# mine\n")
    assert project.command("record", call, "--add", "link.yaml").returncode == 0
    with open(project.contract, encoding="utf-8") as file:
        text = file.read()
    assert [entry["id"] for entry in yaml.safe_load(text)["contracts"]] == ["notes-save-note", "notes-save-note-2"]
    assert text.count("# mine\n") == 1 and os.stat(project.contract).st_mode & 0o777 == 0o640
    assert os.path.islink(os.path.join(project.root, "link.yaml"))
    assert project.command("lint").returncode == 0
    assert project.command("verify", "--require-match", call).returncode == 0


def test_add_to_a_broken_file_changes_nothing(project: Any) -> None:
    """A contract file with an error is said, and stays as it is."""
    project.write("notes/weekly.md", "hello there\n")
    project.write("truecall.yaml", "version: 1\ncontracts:\n  - id: a\n")
    done = project.command("record", payload_file(project, note(project)), "--add", "truecall.yaml")
    assert done.returncode == 2 and "TC110" in done.stderr
    with open(project.contract) as file:
        assert file.read() == "version: 1\ncontracts:\n  - id: a\n"


def test_a_file_that_somebody_else_changed_meanwhile_is_not_written(tmp_path: Any) -> None:
    """The last look is right before the file is replaced."""
    path = tmp_path / "truecall.yaml"
    path.write_bytes(b"theirs")
    with pytest.raises(UsageError, match="changed while"):
        append_contract.write_file(str(path), b"ours", b"new")
    assert path.read_bytes() == b"theirs" and os.listdir(tmp_path) == ["truecall.yaml"]


# -- its parts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "value", "made"), [
    ("notes/weekly.md", "weekly", "notes/{{v}}.md"),
    ("notes/a.md", "a", "notes/{{v}}.md"),
    ("data/banana.md", "a", "data/banana.md"),
    ("out/report-weekly_1.md", "weekly", "out/report-{{v}}_1.md"),
    ("out/biweekly.md", "weekly", "out/biweekly.md"),
    ("src/app/main.py", "src/app", "{{v}}/main.py"),
    ("src/app/main.py", "/src/app/", "{{v}}/main.py"),
    ("x1/1.md", "1", "x1/1.md"),
    ("x/42.md", "42", "x/{{v}}.md"),
    ("x/a.md", "", "x/a.md"),
    ("x/x/x", "x", "{{v}}/{{v}}/{{v}}"),
])  # fmt: skip
def test_a_value_is_a_template_where_it_stands_as_a_word(path: str, value: str, made: str) -> None:
    """Parts of other words, and single digits, are coincidences."""
    assert changed_files.replace_values(path, [("{{v}}", value)]) == made


def test_a_template_is_never_taken_for_text() -> None:
    """What one value put there, the next does not change."""
    assert changed_files.replace_values("args/title.md", [("{{args.title}}", "title"), ("{{args.a}}", "args")]) == "{{args.a}}/{{args.title}}.md"


@pytest.mark.parametrize("line", ["if true; then make; fi", "bash -c 'make'", "false || make", "$X", "echo make"])
def test_what_is_not_certain_is_no_pattern(line: str) -> None:
    """No contract about a command that the parser does not know to have run, or that does nothing."""
    assert [way for way in shell_commands.find_patterns(line, 0) if "make" in way.pattern] == []
