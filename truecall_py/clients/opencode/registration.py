"""OpenCode: where and how it is told of a hook."""

from truecall_py.clients.registration import PLUGIN, Registration

REGISTRATION = Registration(
    name="opencode",
    client="OpenCode",
    events=("tool.execute.after",),
    home=("XDG_CONFIG_HOME", "opencode", ".config/opencode"),
    user="plugins/truecall.ts",
    project=".opencode/plugins/truecall.ts",
    example="install/opencode.ts",
    executable="opencode",
    marks=(".opencode", "opencode.json", "opencode.jsonc"),
    agent_variables=("OPENCODE",),
    home_servers=(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
    project_servers=("opencode.json", "opencode.jsonc"),
    untold="OpenCode tells its plugin nothing of a call that failed: such calls are not judged",
    form=PLUGIN,  # its time-out is in the template
)
