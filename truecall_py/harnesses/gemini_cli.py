"""Gemini CLI: how its hook payloads are read and how it is answered. Seen with the real client (0.61.0)."""

from __future__ import annotations

from truecall_py.registration import COMMENTS, Registration

NAME = "gemini-cli"
REGISTRATION = Registration(
    client="Gemini CLI",
    events=("AfterTool",),  # after success and after failure
    home=("GEMINI_CLI_HOME", ".gemini", ".gemini"),
    user="settings.json",
    project=".gemini/settings.json",
    example="install/gemini-cli.json",
    timeout=("timeout", 30000),  # milliseconds
    reads=(COMMENTS,),  # with a trailing comma or a byte order mark it does not even start
    off=(("hooksConfig.enabled", False),),
    remark="Gemini CLI runs a project's hooks only in a folder that it trusts: start `gemini` in this folder once "
    "and choose to trust it",
)
