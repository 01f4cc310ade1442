"""Every kind of source that a receipt comes from."""

from __future__ import annotations

import pytest
from support.payments import (
    LOCAL,
    SOURCES,
    Agent,
    reconcile,
    says,
)

LOOKS = {
    "look.sh": '#!/bin/sh\n[ -e state ] || exit 0\nprintf \'{"order": "%s", "state": "%s"}\\n\' "$1" "$(cat state)"\n',
    "custom.sh": '#!/bin/sh\n[ -e state ] || { echo \'{"receipt": null}\'; exit 0; }\n'
    'printf \'{"receipts": [{"order": "o1", "state": "%s"}]}\\n\' "$(cat state)"\n',
    "look.py": "import os\ndef receipt(call):\n    if not os.path.exists(call['project'] + '/state'):\n"
    "        return {'receipt': None}\n    with open(call['project'] + '/state') as file:\n"
    "        return {'receipt': {'order': call['args']['order'], 'state': file.read().strip()}}\n",
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("word", "form"), [("sent", "silent"), ("packed", "append"), ("lost", "replace"), ("", "replace")])
def test_every_source(project, source, word, form):
    """Rows, a program's output, a person's own check: all give receipts, and none is no receipt."""
    for name, text in LOOKS.items():
        project.write(name, text, 0o755)
    project.trust(LOCAL % SOURCES[source])
    says(project, source, "")
    agent = Agent(project)
    agent.asks(tool="mcp__shop__ship")
    says(project, source, word)
    told = agent.ends(tool="mcp__shop__ship")
    assert told.form == form, told
    if not word:
        assert "Do not make it again" in told.text


def test_a_source_whose_code_was_changed_is_not_asked(project):
    """The code that was trusted is pinned, here as everywhere."""
    project.write("look.sh", LOOKS["look.sh"], 0o755)
    project.trust(LOCAL % SOURCES["command"])
    agent = Agent(project)
    agent.asks(tool="mcp__shop__ship")
    project.write("state", "sent")
    project.write("look.sh", LOOKS["look.sh"] + "# another\n", 0o755)
    assert "was changed since" in agent.ends(tool="mcp__shop__ship").text
    assert "was changed since" in reconcile(project).stdout
