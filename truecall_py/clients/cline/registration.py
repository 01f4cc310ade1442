"""Cline: where and how it is told of a hook."""

from __future__ import annotations

from truecall_py.clients.registration import SCRIPT, Registration

REGISTRATION = Registration(
    name="cline",
    client="Cline",
    events=("PostToolUse",),  # after success and after failure
    home=("CLINE_DIR", "", ".cline"),
    user="hooks/PostToolUse",
    project=".clinerules/hooks/PostToolUse",
    example="install/cline.sh",
    form=SCRIPT,  # there is no time-out to give
)
