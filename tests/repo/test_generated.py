"""Nothing is written down twice: what is made from the modules is what lies in the repository."""

import os
import subprocess
import sys

import pytest
from generate import files as generated

FILES = generated.files()


@pytest.mark.parametrize("path", sorted(FILES))
def test_generated_files_are_current(path: str) -> None:
    """A generated file in the repository is what its generator makes now."""
    with open(os.path.join(generated.ROOT, path), encoding="utf-8") as file:
        assert file.read() == FILES[path], "run: python install/generate"


def test_the_launcher_is_valid_in_every_shell_that_is_here() -> None:
    """The launcher is plain POSIX sh: each shell of this machine parses it."""
    launcher = os.path.join(generated.ROOT, "hooks", "run.sh")
    assert os.access(launcher, os.X_OK)
    for shell in ("sh", "dash", "bash", "busybox"):
        argv = [shell, "sh", "-n", launcher] if shell == "busybox" else [shell, "-n", launcher]
        try:
            done = subprocess.run(argv, capture_output=True)
        except FileNotFoundError:
            continue
        assert done.returncode == 0, (shell, done.stderr)


def test_importing_the_package_is_free() -> None:
    """`import truecall_py` loads none of its own modules until something is asked of it."""
    code = "import sys, truecall_py; print([name for name in sys.modules if name.startswith('truecall_py.')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=generated.ROOT, check=True)
    assert out.stdout.strip() == "[]"
