"""Wheels of this repository, and environments that hold nothing else than one of them and what it needs."""

from __future__ import annotations

import glob
import os
import subprocess
import sys

PATIENCE = 300  # seconds for one step, which may download


def run(*argv: str, **more) -> subprocess.CompletedProcess[str]:
    """A program that must end with 0."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)
    assert done.returncode == 0, f"{argv}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done


def build_wheel(source: str, folder: str) -> str:
    """The path of the wheel of the sources in a folder."""
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, source)
    (wheel,) = glob.glob(os.path.join(folder, "*.whl"))
    return wheel


class Environment:
    """A virtual environment, and a project whose owner uses it: a home of their own, and no other truecall."""

    def __init__(self, base: str) -> None:
        self.base = os.path.realpath(base)
        run(sys.executable, "-m", "venv", self.base)
        self.bin = os.path.join(self.base, "bin")
        self.python = os.path.join(self.bin, "python")

    def install(self, wheel: str, *options: str) -> None:
        """Installs a wheel, over another one if need be."""
        run(self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, wheel)

    @property
    def package(self) -> str:
        """The folder of the installed package."""
        (folder,) = glob.glob(os.path.join(self.base, "lib", "python*", "site-packages", "truecall_py"))
        return folder

    def command(self, home: str, project: str, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A program of this environment, run in a project by a user with that home."""
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": home, "CLAUDE_PROJECT_DIR": project}
        return subprocess.run(
            argv, cwd=project, env=env, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )
