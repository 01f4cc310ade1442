"""Gemini CLI: where and how it is told of a hook."""

from truecall_py.clients.registration import COMMENTS, Registration
from truecall_py.clients.settings_rules import MATCHER, SettingsRules

REGISTRATION = Registration(
    name="gemini-cli",
    client="Gemini CLI",
    events=("AfterTool",),  # after success and after failure
    home=("GEMINI_CLI_HOME", ".gemini", ".gemini"),
    user="settings.json",
    project=".gemini/settings.json",
    example="install/gemini-cli.json",
    executable="gemini",
    marks=(".gemini", "GEMINI.md"),
    agent_variables=("GEMINI_CLI", "GEMINI_SESSION_ID"),
    home_servers=(".gemini/settings.json",),
    project_servers=(".gemini/settings.json",),
    beside_servers=("settings.json",),
    timeout=("timeout", 30000),  # milliseconds
    reads=(COMMENTS,),  # with a trailing comma or a byte order mark it does not even start
    off=(("hooksConfig.enabled", False),),
    remark="Gemini CLI runs a project's hooks only in a folder that it trusts: start `gemini` in this folder once "
    "and choose to trust it",
    expands=True,
    longest=("Gemini CLI", 2147483647),
    rules=SettingsRules("runs no hook of that event", group=(MATCHER,), idle=True),
)
