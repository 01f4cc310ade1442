"""Codex CLI: where and how it is told of a hook."""

from truecall_py.clients.registration import Plugin, Registration
from truecall_py.clients.settings_rules import COUNT, LIST, OBJECT, SWITCH, TEXT, Rule, SettingsRules, ask, or_null

NEW = "Codex 0.171.0 and near it"
# What it asks of the values in its settings file. Each row was seen with the real client.
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
REGISTRATION = Registration(
    name="codex",
    client="Codex",
    events=("PostToolUse", "PreToolUse", "PermissionRequest", "Stop", "SubagentStop"),
    slow=(("Stop", 660), ("SubagentStop", 660)),
    home=("CODEX_HOME", "", ".codex"),
    user="hooks.json",
    project=".codex/hooks.json",
    example="install/codex.json",
    executable="codex",
    marks=(".codex",),
    agent_variables=("CODEX_SANDBOX", "CODEX_THREAD_ID"),
    scratch=(".codex",),
    shared=(".agents",),
    home_servers=(".codex/config.toml",),
    project_servers=(".codex/config.toml",),
    beside_servers=("config.toml",),
    own_servers=("codex_apps",),
    # Each of these was seen to void the whole file in silence.
    keys=("description", "hooks"),
    types=("command", "mcp_tool", "prompt", "agent"),
    one_scope=True,
    untold="Codex tells no hook of a patch that failed, of an MCP tool's error, of an apply_patch inside a shell "
    "command, and of a command that was still running: such calls are judged at the stop alone",
    plugin=Plugin(
        root="CLAUDE_PLUGIN_ROOT",
        hooks="hooks/codex.json",
        manifest=".codex-plugin/plugin.json",
        install="codex plugin add truecall",
        remove="codex plugin remove truecall",
        names_hooks=True,
    ),
    rules=RULES,
)
