"""Cline: where and how it is told of a hook."""

from truecall_py.clients.registration import SCRIPT, Registration

REGISTRATION = Registration(
    name="cline",
    client="Cline",
    events=("PostToolUse",),  # after success and after failure
    home=("CLINE_DIR", "", ".cline"),
    user="hooks/PostToolUse",
    project=".clinerules/hooks/PostToolUse",
    example="install/cline.sh",
    executable="cline",
    marks=(".clinerules",),
    agent_variables=(),
    home_servers=(".cline/mcp.json", ".cline/data/settings/cline_mcp_settings.json"),
    form=SCRIPT,  # there is no time-out to give
)
