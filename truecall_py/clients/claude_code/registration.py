"""Claude Code: where and how it is told of a hook."""

from __future__ import annotations

from truecall_py.clients.claude_code.settings_rules import RULES
from truecall_py.clients.registration import BOM, Plugin, Registration

OLD, NEW = "Claude Code 2.1.197", "Claude Code 2.1.332"  # the two versions that were run
REGISTRATION = Registration(
    name="claude-code",
    client="Claude Code",
    events=("PostToolUse", "PostToolUseFailure", "PostToolBatch", "PreToolUse", "Stop", "SubagentStop"),
    slow=(("Stop", 660), ("SubagentStop", 660)),
    home=("CLAUDE_CONFIG_DIR", "", ".claude"),
    user="settings.json",
    # The file for one machine: the registration holds absolute paths, and settings.json is a team's.
    project=".claude/settings.local.json",
    example="install/claude-code.json",
    status="truecall checks the result",
    # One comment or trailing comma and 2.1.197 and 2.1.332 read nothing of the file; one bad entry and
    # 2.1.197 runs none of its hooks.
    reads=(BOM,),
    types=("command", "http", "prompt", "agent", "mcp_tool"),
    off=(("disableAllHooks", True),),
    twice=False,
    here=True,
    longest=(OLD, 2147483.647),
    plugin=Plugin(
        root="CLAUDE_PLUGIN_ROOT",
        hooks="hooks/hooks.json",
        manifest=".claude-plugin/plugin.json",
        install="claude plugin install truecall",
        remove="claude plugin uninstall truecall",
        marketplace=".claude-plugin/marketplace.json",
    ),
    rules=RULES,
)
