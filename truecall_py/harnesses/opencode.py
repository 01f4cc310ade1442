"""OpenCode: how the payloads of its plugin are read and how it is answered. Seen with the real client
(1.18.33), which has no hook on standard input: hooks/opencode.ts calls the launcher."""

from __future__ import annotations

from truecall_py.registration import PLUGIN, Registration

NAME = "opencode"
REGISTRATION = Registration(
    client="OpenCode",
    events=("tool.execute.after",),
    home=("XDG_CONFIG_HOME", "opencode", ".config/opencode"),
    user="plugins/truecall.ts",
    project=".opencode/plugins/truecall.ts",
    example="install/opencode.ts",
    form=PLUGIN,  # its time-out is in the template
)
