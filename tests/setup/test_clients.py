"""What `truecall install` does for single clients: trust in Codex, folders that variables move, scripts and shims."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from typing import Any

import pytest
from support.settings import (
    HARNESSES,
    PROJECT,
    USER,
    home,
    moved,
    read,
    run,
    tree,
)

from truecall_py.clients import registration
from truecall_py.core import paths


def codex_hash(handler: dict[str, Any], matcher: str | None = None) -> str:
    """As observed with the real client, written down a second time."""
    hashed = {"async": False, "command": handler["command"], "timeout": handler["timeout"], "type": "command"}
    group: dict[str, Any] = {"event_name": "post_tool_use", "hooks": [hashed]}
    if matcher is not None:
        group["matcher"] = matcher
    compact = json.dumps(group, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(compact.encode()).hexdigest()


def states(path: str) -> dict[str, Any]:
    import tomlkit

    found: dict[str, Any] = tomlkit.parse(read(path).decode()).unwrap().get("hooks", {}).get("state", {})
    return found


CONFIG = """\
# mine
model = "x"   # keep

[mcp_servers.notes]
command = 'a'
env = { A = "1" }

[hooks.state."/elsewhere/hooks.json:post_tool_use:0:0"]
trusted_hash = "sha256:00"
"""


@pytest.mark.parametrize(
    "config", [None, "", CONFIG, CONFIG.rstrip("\n"), CONFIG.replace("\n", "\r\n"), "[hooks]\n[features]\n"]
)
def test_codex_trusts_what_was_installed(person: Any, config: str | None) -> None:
    """The entry in config.toml has our group's and handler's number and the right hash; every other byte stays."""
    path, toml = home(person, ".codex/hooks.json"), home(person, ".codex/config.toml")
    person.write(
        path,
        json.dumps({"hooks": {"PostToolUse": [{"matcher": "x", "hooks": [{"type": "command", "command": "y"}]}]}}),
    )
    if config is not None:
        person.write(toml, config)
    before = tree(person.home)
    run(person, "install", "codex")
    handler = json.loads(read(path))["hooks"]["PostToolUse"][1]["hooks"][0]
    assert states(toml)[f"{path}:post_tool_use:1:0"] == {"trusted_hash": codex_hash(handler)}
    assert read(toml).decode().startswith(config or "") and (b"\r\n" in read(toml)) == ("\r\n" in (config or ""))
    after = tree(person.home)
    assert "nothing to change" in run(person, "install", "codex") and tree(person.home) == after
    run(person, "uninstall", "codex")
    assert tree(person.home) == before


def test_codex_trust_follows_every_change(person: Any) -> None:
    """A moved interpreter gets a new hash, a lost or wrong entry is mended, and a foreign hook behind ours keeps
    the trust that it has when ours goes and the numbers move up."""
    path, toml = home(person, ".codex/hooks.json"), home(person, ".codex/config.toml")
    person.write(toml, CONFIG)
    run(person, "install", "codex")
    good = states(toml)
    moved(person, path)
    run(person, "install", "codex")
    assert states(toml) == good
    person.write(
        toml,
        CONFIG + f"\n[hooks.state.'{path}:post_tool_use:0:0']\ntrusted_hash = \"sha256:11\"  # x\nenabled = true\n",
    )
    run(person, "install", "codex")
    assert states(toml) == {
        **good,
        f"{path}:post_tool_use:0:0": {**good[f"{path}:post_tool_use:0:0"], "enabled": True},
    }
    plain = json.loads(read(path))
    theirs = {"type": "command", "command": "theirs", "timeout": 5}
    plain["hooks"]["PostToolUse"] += [{"matcher": "x", "hooks": [theirs]}]
    person.write(path, json.dumps(plain))
    trust = f'\n[hooks.state."{path}:post_tool_use:1:0"] # k]eep\ntrusted_hash = "{codex_hash(theirs, "x")}"\n'
    with open(toml, "a") as file:
        file.write(trust)
    run(person, "uninstall", "codex")
    assert json.loads(read(path))["hooks"]["PostToolUse"] == [{"matcher": "x", "hooks": [theirs]}]
    assert read(toml).decode() == CONFIG + trust.replace(":1:0", ":0:0")


def test_codex_with_hooks_in_config_toml_is_refused(person: Any) -> None:
    """Two representations side by side run both: nothing is written, and the form to paste is shown."""
    toml = person.write(
        home(person, ".codex/config.toml"), '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "x"\n'
    )
    before = tree(person.home)
    out = run(person, "install", "codex", code=2)
    assert toml in out and "Stop" in out and "[[hooks.PostToolUse.hooks]]" in out and tree(person.home) == before
    import tomlkit

    pasted = tomlkit.parse(out[out.index("[[hooks.PostToolUse]]") :]).unwrap()["hooks"]["PostToolUse"]
    assert registration.split_words(pasted[0]["hooks"][0]["command"]) and pasted[0]["hooks"][0]["timeout"] == 30
    person.write(toml, "[[broken")
    out = run(person, "install", "codex", code=2)
    assert toml in out and "TOML" in out and not os.path.exists(home(person, ".codex/hooks.json"))
    person.write(toml, 'hooks = {state = {"a:b" = {trusted_hash = "sha256:0"}}}\n')
    out = run(person, "install", "codex", code=2)
    assert "trusted_hash" in out and not os.path.exists(home(person, ".codex/hooks.json"))


def test_codex_in_a_project(person: Any) -> None:
    """The trust goes into the person's own config.toml; what they must confirm is said, unless they have; and a
    second registration is refused, since Codex would run both."""
    out = run(person, "install", "codex", "--project")
    path, toml = os.path.join(person.root, ".codex/hooks.json"), home(person, ".codex/config.toml")
    assert f"{path}:post_tool_use:0:0" in states(toml) and not os.path.exists(home(person, ".codex/hooks.json"))
    assert f'[projects."{person.root}"]' in out and 'trust_level = "trusted"' in out
    with open(toml, "a") as file:
        file.write(f'\n[projects."{person.root}"]\ntrust_level = "trusted"\n')
    assert "trust_level" not in run(person, "install", "codex", "--project")
    assert "run both" in run(person, "install", "codex", "--user", code=2)
    run(person, "uninstall", "codex", "--project")
    assert not os.path.exists(path) and states(toml) == {} and "trust_level" in read(toml).decode()


def test_codex_home_with_a_link(person: Any) -> None:
    """Codex resolves CODEX_HOME, and only that, in the name that it trusts."""
    real = person.folder("real")
    link = os.path.join(person.base, "link")
    os.symlink(real, link)
    run(person, "install", "codex", env={"CODEX_HOME": link})
    events = ("post_tool_use", "pre_tool_use", "permission_request", "stop", "subagent_stop")
    assert list(states(os.path.join(real, "config.toml"))) == [f"{real}/hooks.json:{event}:0:0" for event in events]
    run(person, "uninstall", "codex", env={"CODEX_HOME": link})
    assert os.listdir(real) == []
    os.symlink(real, home(person, ".codex"))
    run(person, "install", "codex")
    assert list(states(os.path.join(real, "config.toml"))) == [
        f"{home(person, '.codex')}/hooks.json:{event}:0:0" for event in events
    ]


def test_folders_that_a_variable_moves(person: Any) -> None:
    """Each client's own variable for its folder counts."""
    for name, variable, below in (
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen-code", "QWEN_HOME", "settings.json"), ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/truecall.ts"),
        ("cline", "CLINE_DIR", "hooks/PostToolUse"), ("copilot-cli", "COPILOT_HOME", "hooks/truecall.json"),
    ):  # fmt: skip
        folder = os.path.join(person.base, name)
        run(person, "install", name, env={variable: folder})
        assert os.path.isfile(os.path.join(folder, below)), name


def test_switched_off_hooks_are_told(person: Any) -> None:
    """Where the settings switch all hooks off, the entry is written and the person is told that it does not run."""
    for name, text in (("claude-code", '{"disableAllHooks": true}'),
                       ("gemini-cli", '{"hooksConfig": {"enabled": false}}'),
                       ("qwen-code", '{"disableAllHooks": true}')):  # fmt: skip
        person.write(home(person, USER[name]), text)
        assert "runs no hook at all" in run(person, "install", name)
    person.write(home(person, ".codex/config.toml"), "[features]\nhooks = false\n")
    assert "runs no hook" in run(person, "install", "codex")


def test_an_entry_made_by_hand_is_told(person: Any) -> None:
    """The registration that the README once showed would judge each call twice."""
    by_hand = {
        "hooks": {
            "PostToolUse": [{"hooks": [{"type": "command", "command": '"/x/hooks/run.sh" claude-code PostToolUse'}]}]
        }
    }
    path = person.write(home(person, USER["claude-code"]), json.dumps(by_hand))
    assert (
        "by hand" in run(person, "install", "claude-code")
        and len(json.loads(read(path))["hooks"]["PostToolUse"]) == 2
    )


def test_a_project_in_a_repository(person: Any) -> None:
    """Files with absolute paths are no matter for a team; Claude Code's own are in settings.local.json."""
    subprocess.run(["git", "init", "-q", person.root], check=True)
    person.write(".claude/settings.json", "{}")
    for name in sorted(HARNESSES):
        out = run(person, "install", name, "--project")
        assert "absolute paths" in out and PROJECT[name] in out
    assert read(os.path.join(person.root, ".claude/settings.json")) == b"{}"


def test_cline_script(person: Any) -> None:
    """An executable script of ours; somebody else's is left alone, with the line to add; uninstall takes that out."""
    path = os.path.join(person.root, PROJECT["cline"])
    run(person, "install", "cline", "--project")
    assert os.access(path, os.X_OK) and subprocess.run(["sh", "-n", path]).returncode == 0
    os.chmod(path, 0o644)
    run(person, "install", "cline", "--project")
    assert os.access(path, os.X_OK)
    run(person, "uninstall", "cline", "--project")
    theirs = "#!/bin/bash\nlog something\n"
    person.write(path, theirs, 0o755)
    out = run(person, "install", "cline", "--project", code=2)
    line = out.rstrip().rsplit("\n", 1)[-1]
    assert registration.split_words(line) and read(path).decode() == theirs
    person.write(path, theirs + line + "\n", 0o755)
    assert "nothing to change" in run(person, "install", "cline", "--project")
    run(person, "uninstall", "cline", "--project")
    assert read(path).decode() == theirs


def test_a_plugin_of_somebody_else_is_left_alone(person: Any) -> None:
    """A truecall.ts that is not ours is refused; one of ours that was edited goes as a whole, and that is said."""
    path = person.write(home(person, USER["opencode"]), "export const Mine = 1\n")
    assert "somebody else" in run(person, "install", "opencode", code=2) and read(path) == b"export const Mine = 1\n"
    os.unlink(path)
    run(person, "install", "opencode")
    with open(path, "a") as file:
        file.write("// edited\n")
    assert "edited" in run(person, "uninstall", "opencode") and not os.path.exists(path)


NODE = """\
import { Truecall } from %s
const hooks = await Truecall({ directory: %s })
const after = hooks["tool.execute.after"]
const call = async (output) => { await after({ tool: "write", callID: "c" }, output); return output }
console.log(JSON.stringify([
  await call({ title: "", output: "Wrote it.", metadata: {} }),
  await call({ content: [{ type: "text", text: "Saved." }] }),
]))
"""


@pytest.mark.parametrize("says, built_in, mcp", [
    ("", "Wrote it.", ["Saved."]),
    ("printf '%s' '{\"output\": \"NOT DONE\"}'", "NOT DONE", ["NOT DONE"]),
    ("printf '%s' '{\"append\": \"look\"}'", "Wrote it.\n\nlook", ["Saved.", "look"]),
    ("echo why >&2; exit 2", "Wrote it.\n\nwhy", ["Saved.", "why"]),
    ("exit 1", None, None), ("echo nonsense", None, None), ("kill -9 $$", None, None),
    ("exec 0<&-; exit 3", None, None),
])  # fmt: skip
def test_the_opencode_shim(person: Any, says: str, built_in: str | None, mcp: list[str] | None) -> None:
    """It replaces, appends or leaves the output, and any end but a good one is told to the model."""
    import re
    import shutil

    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    with open(os.path.join(paths.find_hooks_folder(), "opencode.ts")) as file:
        text = file.read().replace('"@COMMAND@"', json.dumps(f"cat >seen; {says}"))
    for typed in ("type Answer = { output?: string; append?: string }", ": Promise<Answer>", ": string", ": Answer",
                  ": any", "<Answer>"):  # fmt: skip
        text = text.replace(typed, "")  # node runs what is left as it is
    text = re.sub(r"\\(piece\\)", "(piece)", text)
    plugin = person.write("plugin.mjs", text)
    person.write("main.mjs", NODE % (json.dumps(plugin), json.dumps(person.root)))
    done = subprocess.run([node, "main.mjs"], cwd=person.root, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    first, second = json.loads(done.stdout)
    texts = [block["text"] for block in second["content"]]
    if built_in is None:
        assert first["output"].startswith("Wrote it.\n\nNOT CONFIRMED") and texts[1].startswith("NOT CONFIRMED")
    else:
        assert first["output"] == built_in and texts == mcp
    sent = json.loads(read(os.path.join(person.root, "seen")))
    assert sent["cwd"] == person.root and sent["input"]["callID"] == "c"
    assert sent["output"]["content"][0]["text"] == "Saved."


@pytest.mark.parametrize("tail", ["; echo x >> ~/log", " | tee -a /tmp/audit.log", " && true", " > /dev/null"])
def test_what_a_person_joined_to_our_command_is_theirs(tail: str) -> None:
    """A line with a command of the person's own behind ours is not taken for ours, and so not replaced."""
    line = registration.build_line("claude-code", "PostToolUse", "/a b/python", "/x;y/hooks/run.sh", "/s&t'u")
    assert registration.split_words(line)[1:3] == ["claude-code", "PostToolUse"]
    assert registration.split_words(line + tail) == []


@pytest.mark.parametrize("name", ["gemini-cli", "qwen-code"])
def test_a_path_that_the_client_would_expand_is_refused(person: Any, name: str) -> None:
    """Gemini CLI and Qwen Code replace $NAME anywhere in their settings: such a path would name another file."""
    assert "for a variable" in run(person, "install", name, code=2, env={"XDG_STATE_HOME": person.folder("a$USER")})
    assert not os.path.exists(home(person, USER[name]))
