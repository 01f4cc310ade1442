"""Trust on a full disk, and many at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from support.faults import (
    as_root,
    refuted,
)
from support.project import NOTE, PATIENCE, ROOT


def store(project):
    """Every file of the trust store with its content."""
    found = {}
    for folder, _, names in os.walk(os.path.join(project.state, "contracts")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.join(folder, name)] = file.read()
    return found


def large():
    return NOTE + "".join(f"# {number:060d}\n" for number in range(3000))


def test_trust_on_a_full_disk_changes_nothing(project):
    """Trust that cannot be written whole leaves the old pin as it was, and no draft."""
    project.trust()
    before = store(project)
    project.write("truecall.yaml", large())
    limit = ["sh", "-c", 'ulimit -f 64; exec "$@"', "sh", sys.executable, "-m", "truecall_py", "trust", "--yes"]
    done = subprocess.run(limit, cwd=project.root, env={**project.env, "PYTHONPATH": ROOT}, capture_output=True,
                          text=True, timeout=PATIENCE, check=False)  # fmt: skip
    assert done.returncode == 3 and "nothing was changed" in done.stderr, done
    assert "Traceback" not in done.stderr
    assert store(project) == before
    assert refuted(project.hook(project.mcp()), "note-saved")


@as_root
def test_trust_on_a_tiny_file_system(project):
    """The same on a file system that is really full."""
    os.makedirs(project.state, 0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", project.state],
                      capture_output=True, check=False).returncode:  # fmt: skip
        pytest.skip("mounting is not permitted here")
    try:
        project.trust()
        before = store(project)
        project.write("truecall.yaml", large())
        done = project.command("trust", "--yes")
        assert done.returncode == 3 and "No space left" in done.stderr, done
        assert store(project) == before
    finally:
        subprocess.run(["umount", project.state], check=True)


@pytest.mark.parametrize("contents", ["one content", "eight contents"])
def test_many_trusts_at_once_leave_readable_pins(project, contents):
    """Eight people who trust at once all succeed, and every content that was trusted is trusted afterwards."""
    from truecall_py.trust.store import Pin

    texts = [NOTE + (f"# {number}\n" if contents == "eight contents" else "") for number in range(8)]
    code = (
        "import sys; from truecall_py.trust import pin as pinning; data = sys.argv[1].encode(); sys.stdin.read();"
        "pinning.trust(pinning.compile_file('truecall.yaml', data), sys.argv[2])"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, text, project.state], cwd=project.root, stdin=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**project.env, "PYTHONPATH": ROOT},
        )
        for text in texts
    ]  # fmt: skip
    time.sleep(0.5)
    for process in started:
        process.stdin.close()
    for process in started:
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(PATIENCE) == 0, err
    pins = store(project)
    assert all(path.endswith(".pin") for path in pins)
    assert sorted(Pin(data, path).trusted.decode() for path, data in pins.items()) == sorted(set(texts))
