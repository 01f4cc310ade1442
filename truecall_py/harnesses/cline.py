"""Cline: how its hook payloads are read and how it is answered. Seen with the real client (3.0.65)."""

from __future__ import annotations

from truecall_py.registration import SCRIPT, Registration

NAME = "cline"
REGISTRATION = Registration(
    client="Cline",
    events=("PostToolUse",),  # after success and after failure
    home=("CLINE_DIR", "", ".cline"),
    user="hooks/PostToolUse",
    project=".clinerules/hooks/PostToolUse",
    example="install/cline.sh",
    form=SCRIPT,  # there is no time-out to give
)
