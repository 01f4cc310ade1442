"""The worlds of the captured payloads, rebuilt in a temporary folder: `honest` as the call left it, and its
lying twins, in which the same answer was given and the effect is missing, empty, as before or cut off.

The payloads name a project folder that exists nowhere; its path is replaced by the temporary one.
"""

from __future__ import annotations

import json
from pathlib import Path

PAYLOADS = Path(__file__).parent.parent / "data" / "payloads"
HOME = "/home/dev"  # as in the payloads; the project is below it
HANDLED = {"claude-code": ("PostToolUse", "PostToolUseFailure"), "codex": ("PostToolUse",)}

# What commands and tools wrote that carry no content of their own: the file, and what is in it afterwards.
MADE = {
    "claude-code/PostToolUse__Bash__bash_write_file": {"made.txt": "x"},
    "claude-code/PostToolUse__Bash__pb4": {"f4.txt": "4\n"},
    "claude-code/PostToolUse__mcp__notes__save_note_real__mcp_real": {"notes/n2.txt": "hello"},
    "claude-code/PostToolUse__mcp__notes__save_note_real__real": {"notes/n1.txt": "hello"},
    "claude-code/PostToolUse__mcp__notes__structured_note__mcp_structured": {"notes/n4.txt": "hello"},
    "claude-code/PostToolUse__mcp__notes__structured_only__mcp_structured_only": {"notes/n5.txt": ""},
    "codex/PostToolUse__Bash__exec_heredoc": {"sub/heredoc.txt": "line1\n"},
    "codex/PostToolUse__Bash__exec_workdir": {"../harness/made.txt": ""},
    "codex/PostToolUse__mcp__notes__save_note_ok__mcp_save_note_ok": {"../notes/t1.txt": "hello"},
    "others/copilot-cli__postToolUse__bash_ok": {"note.txt": "hi\n"},
    "others/gemini-cli__AfterTool__run_shell_command_ok": {"note.txt": "hi\n"},
    "others/qwen-code__PostToolUse__run_shell_command": {"note.txt": "hi\n"},
}
# The tool of these said that it saved a note and did not; the honest world of them never was.
LIARS = (
    "claude-code/PostToolUse__mcp__notes__save_note__lie",
    "claude-code/PostToolUse__mcp__notes__save_note__mcp_lie",
    "claude-code/PostToolUse__mcp__notes__save_note__mcp_after_crash",
    "claude-code/PostToolUse__mcp__notes__save_note__mcp_badargs",
    "claude-code/PostToolUse__mcp__notes__save_note__par_mcp",
    "codex/PostToolUse__mcp__notes__save_note__mcp_save_note_lies",
    "codex/PostToolUse__mcp__notes__save_note__codemode_mcp_lies",
    "codex/PostToolUse__mcp__notes__save_note__par_mcp",
)


def names(harness, *events):
    """The names of the captured payloads of a harness, `codex/PostToolUse__Bash__exec_ok`; of some events only."""
    found = sorted(path.stem for path in (PAYLOADS / harness).glob("*.json"))
    return [f"{harness}/{name}" for name in found if not events or name.split("__")[0] in events]


def handled():
    return [name for harness, events in HANDLED.items() for name in names(harness, *events)]


def others():
    """The captured calls of the other clients that have an adapter."""
    apart = ("kimi-code__", "opencode__plugin-init", "qwen-code__PostToolBatch")
    return [name for name in names("others") if not name.removeprefix("others/").startswith(apart)]


def payload(name, base):
    """The payload of a name, with the folder `base` in the place of the captured home folder."""
    return json.loads(text(name, base))


def text(name, base):
    return (PAYLOADS / f"{name}.json").read_text(encoding="utf-8").replace(HOME, str(base))


class Effect:
    """What a call says that it did to one file. `after` is the content it should have (None: it should be
    gone), `before` what was there (None: nothing); `whole` says whether the call carries all of the content."""

    def __init__(self, path, after, before=None, whole=False):
        self.path, self.after, self.before, self.whole = Path(path), after, before, whole


def effects(name, base):
    """What the call of a name says that it did to files, read off the payload."""
    plain = payload(name, base)
    if name.startswith("others/"):
        return others_effects(plain)
    tool, args = plain.get("tool_name"), plain.get("tool_input", {})
    answer = plain.get("tool_response")
    if plain["hook_event_name"] != "PostToolUse":
        return []
    if tool == "Write":
        return [Effect(args["file_path"], args["content"], answer["originalFile"], whole=True)]
    if tool == "Edit":
        before, old, new = answer["originalFile"], args["old_string"], args["new_string"]
        after = before.replace(old, new, -1 if args["replace_all"] else 1) if old else new
        return [Effect(args["file_path"], after, before or None)]
    if tool == "NotebookEdit":
        return [Effect(args["notebook_path"], answer["updated_file"], answer["original_file"])]
    if tool == "apply_patch":
        return patched(args["command"], Path(plain["cwd"]))
    return []


# By the tool's name in each client: the arguments that hold the path and the whole new content.
WHOLE = {
    "write_file": ("file_path", "content"), "create": ("path", "file_text"), "Write": ("path", "file_text"),
    "write": ("filePath", "content"), "editor": ("path", "new_text"),
}  # fmt: skip


def others_effects(plain):
    """The same for the payloads of the other clients, each with its own keys."""
    asks = plain.get("tool_result", {}) if "hookName" in plain else plain.get("input", plain)
    tool = next(asks[key] for key in ("tool_name", "toolName", "tool", "name") if key in asks)
    args = next(asks[key] for key in ("tool_input", "toolArgs", "args", "input") if key in asks)
    if tool in WHOLE:
        path, content = WHOLE[tool]
        return [Effect(args[path], args[content], whole=True)]
    if tool == "Edit":
        return [Effect(args["path"], f"{args['new_str']} world\n", f"{args['old_str']} world\n")]
    return []


def patched(patch, folder):
    """The effects of the simple patches that were captured: one file each."""
    lines = patch.split("\n")
    action, path = lines[1].removeprefix("*** ").split(" File: ")
    added = "".join(f"{line[1:]}\n" for line in lines[2:] if line.startswith("+"))
    removed = "".join(f"{line[1:]}\n" for line in lines[2:] if line.startswith("-"))
    if action == "Delete":
        return [Effect(folder / path, None, "old\n")]
    return [Effect(folder / path, added, removed or None, whole=action == "Add")]


def put(path, content):
    """Makes a file with exactly this content; no file for None."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        path.write_bytes(content.encode())


def honest(name, base):
    """The world of a payload as the call left it. The project folder, and what the call did in it."""
    project = base / "project"
    project.mkdir(parents=True, exist_ok=True)
    (project / "sub").mkdir(exist_ok=True)
    for effect in effects(name, base):
        put(effect.path, effect.after)
    for path, content in MADE.get(name, {}).items():
        put(project / path, content)
    return project


def lies(name, base):
    """The lies that can be told with this payload: {what is wrong: how to make it so in the honest world}."""
    found = {}
    for effect in effects(name, base):
        if effect.after is None:
            found["still there"] = lambda path=effect.path, old=effect.before: put(path, old)
            continue
        found["missing"] = effect.path.unlink
        found["a folder"] = lambda path=effect.path: (path.unlink(), path.mkdir())
        if not effect.whole:
            continue
        found["empty"] = lambda path=effect.path: put(path, "")
        if effect.before is not None and effect.before.strip() != effect.after.strip():
            found["as before"] = lambda path=effect.path, old=effect.before: put(path, old)
        start = effect.after[: len(effect.after) // 2]
        if start.strip() and start.strip() != effect.after.strip():
            found["cut off"] = lambda path=effect.path, half=start: put(path, half)
    return found
