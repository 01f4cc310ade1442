"""GitHub Copilot CLI: where and how it is told of a hook."""

from truecall_py.clients.registration import FLAT, Registration
from truecall_py.clients.settings_rules import SWITCH, Rule, SettingsRules, ask


def is_one(value: object) -> bool:
    """Whether a value of JSON is the number 1."""
    return value == 1 and value is not True


REGISTRATION = Registration(
    name="copilot-cli",
    client="GitHub Copilot CLI",
    # The client's own, camelCase form: it needs no matcher, of which the other form takes "" for nothing.
    events=("postToolUse", "postToolUseFailure"),
    home=("COPILOT_HOME", "", ".copilot"),
    user="hooks/truecall.json",
    project=".github/hooks/truecall.json",
    example="install/copilot-cli.json",
    executable="copilot",
    marks=(".github/hooks", ".github/copilot-instructions.md"),
    agent_variables=("COPILOT_CLI",),
    home_servers=(".copilot/mcp-config.json",),
    project_servers=(".github/mcp.json", ".vscode/mcp.json"),
    beside_servers=("mcp-config.json", "../mcp-config.json"),
    form=FLAT,
    command="bash",
    timeout=("timeoutSec", 30),
    frame=(("version", 1),),
    off=(("disableAllHooks", True),),
    remark="Copilot CLI runs a project's hooks only in a folder that it trusts: choose to trust this folder when "
    "`copilot` asks, or start it with --trust-folder",
    every=(None, "*", ".*"),
    rules=SettingsRules(settings=(Rule("version", "1", is_one), *ask(SWITCH, "disableAllHooks"))),
)
