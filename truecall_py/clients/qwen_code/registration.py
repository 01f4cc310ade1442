"""Qwen Code: where and how it is told of a hook."""

from truecall_py.clients.registration import BOM, COMMENTS, Registration
from truecall_py.clients.settings_rules import MATCHER, SettingsRules

REGISTRATION = Registration(
    name="qwen-code",
    client="Qwen Code",
    events=("PostToolUse", "PostToolUseFailure"),
    home=("QWEN_HOME", "", ".qwen"),
    user="settings.json",
    project=".qwen/settings.json",
    example="install/qwen-code.json",
    executable="qwen",
    marks=(".qwen", "QWEN.md"),
    agent_variables=("QWEN_CODE_SESSION_ID",),
    home_servers=(".qwen/settings.json",),
    project_servers=(".qwen/settings.json",),
    beside_servers=("settings.json",),
    reads=(COMMENTS, BOM),  # with a trailing comma it does not even start
    off=(("disableAllHooks", True),),
    adds=("$version",),
    expands=True,
    longest=("Qwen Code", 2147483647),
    rules=SettingsRules("runs no hook of that event", group=(MATCHER,), idle=True),
)
