"""Qwen Code: how its hook payloads are read and how it is answered. Seen with the real client (0.24.4)."""

from __future__ import annotations

from truecall_py.registration import BOM, COMMENTS, Registration

NAME = "qwen-code"
REGISTRATION = Registration(
    client="Qwen Code",
    events=("PostToolUse", "PostToolUseFailure"),
    home=("QWEN_HOME", "", ".qwen"),
    user="settings.json",
    project=".qwen/settings.json",
    example="install/qwen-code.json",
    reads=(COMMENTS, BOM),  # with a trailing comma it does not even start
    off=(("disableAllHooks", True),),
)
