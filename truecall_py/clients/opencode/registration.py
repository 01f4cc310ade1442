"""OpenCode: where and how it is told of a hook."""

from __future__ import annotations

from truecall_py.clients.registration import PLUGIN, Registration

REGISTRATION = Registration(
    name="opencode",
    client="OpenCode",
    events=("tool.execute.after",),
    home=("XDG_CONFIG_HOME", "opencode", ".config/opencode"),
    user="plugins/truecall.ts",
    project=".opencode/plugins/truecall.ts",
    example="install/opencode.ts",
    untold="OpenCode tells its plugin nothing of a call that failed: such calls are not judged",
    form=PLUGIN,  # its time-out is in the template
)
