"""What Codex asks of the values in its settings file. Each row was seen with the real client."""

from __future__ import annotations

from truecall_py.clients.settings_rules import (
    COUNT,
    LIST,
    OBJECT,
    SWITCH,
    TEXT,
    Rule,
    SettingsRules,
    ask,
    or_null,
)

NEW = "Codex 0.171.0 and near it"
RULES = SettingsRules(
    loss="drops the whole file in silence",
    strict=True,
    settings=ask(or_null(TEXT), "description"),
    events=(
        "PreToolUse", "PostToolUse", "PermissionRequest", "SessionStart", "SessionEnd", "UserPromptSubmit",
        "PreCompact", "PostCompact", "SubagentStart", "SubagentStop", "Stop", "Interrupt",
    ),
    event=(Rule("", *LIST),),
    group=(*ask(or_null(TEXT), "matcher"), *ask(LIST, "hooks")),
    handlers=(
        ("command", (*ask(TEXT, "command", needed=True), *ask(or_null(COUNT), "timeout"), *ask(SWITCH, "async"),
                     *ask(or_null(TEXT), "statusMessage commandWindows command_windows"),
                     *ask(or_null(COUNT), "additionalContextLimit", only=NEW))),
        ("mcp_tool", (*ask(TEXT, "server tool", needed=True), *ask(or_null(OBJECT), "input"),
                      *ask(or_null(COUNT), "timeout"), *ask(or_null(TEXT), "statusMessage"))),
    ),
)  # fmt: skip
