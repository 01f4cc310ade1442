"""Files that are written whole, by real processes: what a kill leaves behind is taken away by the next writer of the
same file, and nothing else ever is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from truecall_py.core import atomic_write, paths

# Writes a file, and waits for a line right before the draft takes its place.
WRITER = """
import sys
from truecall_py.core.atomic_write import write_whole
def last():
    print("drawn", flush=True)
    sys.stdin.readline()
write_whole(sys.argv[1], sys.argv[2].encode(), last=last)
"""


def begun(path: str, text: str) -> subprocess.Popen[bytes]:
    """A process that has written its draft, and waits."""
    env = {**os.environ, "PYTHONPATH": os.path.dirname(paths.PACKAGE)}
    argv = [sys.executable, "-c", WRITER, path, text]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert process.stdout is not None and process.stdout.readline() == b"drawn\n"
    return process


def ended(process: subprocess.Popen[bytes], kill: bool) -> None:
    if kill:
        process.send_signal(signal.SIGKILL)
    process.communicate(b"" if kill else b"\n")


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


@pytest.fixture
def path(tmp_path: Any) -> str:
    found = os.path.join(os.path.realpath(tmp_path), "settings.json")
    with open(found, "w") as file:
        file.write("old")
    return found


def test_a_killed_writers_draft_goes_with_the_next_write(path: str) -> None:
    """The file is as it was after the kill; the next writer leaves the file alone in its folder."""
    ended(begun(path, "lost"), kill=True)
    assert len(os.listdir(os.path.dirname(path))) == 2 and read(path) == "old"
    atomic_write.write_whole(path, b"new")
    assert os.listdir(os.path.dirname(path)) == ["settings.json"] and read(path) == "new"


def test_a_draft_that_a_live_process_writes_is_left_to_it(path: str) -> None:
    """Two writers at once: both end well, and the later one wins."""
    process = begun(path, "slow")
    atomic_write.remove_stale_drafts(path)
    atomic_write.write_whole(path, b"fast")
    assert len(os.listdir(os.path.dirname(path))) == 2 and read(path) == "fast"
    ended(process, kill=False)
    assert process.returncode == 0
    assert os.listdir(os.path.dirname(path)) == ["settings.json"] and read(path) == "slow"


def test_nothing_else_is_touched(path: str) -> None:
    """Another name, another file's draft, a link, a folder, a second name of a file: none of them is ours to take."""
    folder = os.path.dirname(path)
    names = ["settings.json.0123abc.draft", "settings.json.0123ABCD.draft", "settings.json.0123abcd.draft.bak",
             "settings.json.0123abcg.draft", "xsettings.json.0123abcd.draft", "settings.json0123abcd.draft",
             "settings.json..draft", "settings.json.0123abcd-draft", "other.json.0123abcd.draft"]  # fmt: skip
    for name in names:
        with open(os.path.join(folder, name), "w") as file:
            file.write("kept")
    os.symlink(path, f"{path}.00000001.draft")
    os.mkdir(f"{path}.00000002.draft")
    os.link(os.path.join(folder, names[0]), f"{path}.00000003.draft")
    os.mkfifo(f"{path}.00000004.draft")
    before = sorted(os.listdir(folder))
    atomic_write.write_whole(path, b"new")
    assert sorted(os.listdir(folder)) == before and read(path) == "new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another's file")
def test_another_persons_draft_is_left(path: str) -> None:
    """It may be one that its owner is at on another machine."""
    draft = f"{path}.0123abcd.draft"
    with open(draft, "w") as file:
        file.write("kept")
    os.chown(draft, 65534, 65534)
    atomic_write.write_whole(path, b"new")
    assert os.path.exists(draft)


def test_a_draft_that_was_taken_away_before_it_was_locked_is_begun_again(path: str, monkeypatch: Any) -> None:
    """Between making a draft and locking it somebody may take it for a stale one: the writer begins anew."""
    lock, taken = atomic_write.fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        if not taken:
            taken.append(1)
            atomic_write.remove_stale_drafts(path)
        lock(descriptor, how)

    monkeypatch.setattr(atomic_write.fcntl, "flock", late)
    atomic_write.write_whole(path, b"new")
    assert taken and os.listdir(os.path.dirname(path)) == ["settings.json"] and read(path) == "new"
