"""GitHub Copilot CLI: how its hook payloads are read and how it is answered. Seen with the real client
(1.0.102)."""

from __future__ import annotations

from truecall_py.registration import FLAT, Registration

NAME = "copilot-cli"
REGISTRATION = Registration(
    client="GitHub Copilot CLI",
    # The client's own, camelCase form: it needs no matcher, of which the other form takes "" for nothing.
    events=("postToolUse", "postToolUseFailure"),
    home=("COPILOT_HOME", "", ".copilot"),
    user="hooks/truecall.json",
    project=".github/hooks/truecall.json",
    example="install/copilot-cli.json",
    form=FLAT,
    command="bash",
    timeout=("timeoutSec", 30),
    frame=(("version", 1),),
    off=(("disableAllHooks", True),),
    remark="Copilot CLI runs a project's hooks only in a folder that it trusts: choose to trust this folder when "
    "`copilot` asks, or start it with --trust-folder",
)
