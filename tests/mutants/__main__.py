"""Breaks the program on purpose, in named places, and sees whether the tests notice.

    python tests/mutants [NAME…] [--jobs N]

A mutant replaces one text in one file and names the tests that must fail then; it is killed when they do. The mutants of
a room are in its file beside this one. Ends with 1 if a mutant survives, or if its text is not there exactly once.

Each worker keeps one copy of the checkout, in which only the mutated file changes, and forks the tests from a process that
has loaded pytest and the libraries already: starting anew took longer than most of the tests.
"""

from __future__ import annotations

import argparse
import compileall
import glob
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATIENCE = 300  # seconds for the tests of one mutant
LIBRARIES = ("click", "hypothesis", "jsonschema", "rich.console", "tomlkit", "yaml")
copy = ""  # this worker's copy of the checkout


class Mutant(NamedTuple):
    """`old` in `file` becomes `new`; `tests` (files, node ids or options of pytest) must then fail."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]


def load() -> list[Mutant]:
    """The mutants of every room."""
    import tomlkit

    mutants = []
    for path in sorted(glob.glob(os.path.join(HERE, "*.toml"))):
        with open(path, encoding="utf-8") as file:
            mutants += [Mutant(**plain) for plain in tomlkit.load(file).unwrap()["mutant"]]
    return mutants


def prepare(base: str) -> None:
    """Makes this worker's copy: the checkout as it stands, without what git ignores."""
    global copy
    copy = os.path.join(tempfile.mkdtemp(dir=base), "checkout")
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.check_output(argv, cwd=ROOT, text=True).split("\0")):
        if os.path.isfile(source := os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            shutil.copy2(source, os.path.join(copy, name))
    compileall.compile_dir(os.path.join(copy, "truecall_py"), quiet=2)
    for name in LIBRARIES:
        __import__(name)


def judge(mutant: Mutant) -> tuple[str, float, str]:
    """killed | SURVIVED | or what is wrong with the mutant itself; the seconds it took; the first test that failed."""
    began = time.monotonic()
    path = os.path.join(copy, mutant.file)
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if text.count(mutant.old) != 1:
        return f"CANNOT BE MADE: its text stands {text.count(mutant.old)} times in {mutant.file}", 0.0, ""
    before = os.stat(path).st_mtime_ns
    try:
        write(path, text.replace(mutant.old, mutant.new), before + int((1 + time.time()) * 1e9))
        code, output = run_tests(mutant.tests)
    finally:
        write(path, text, before)
    end = {0: "SURVIVED", 1: "killed"}.get(code, f"CANNOT BE RUN: {output[-300:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", output, re.MULTILINE)
    return end, time.monotonic() - began, failed[1] if failed else ""


def write(path: str, text: str, modified: int) -> None:
    """Python takes bytecode for current by the second in which its source was modified: each text has its own."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.utime(path, ns=(modified, modified))


def run_tests(tests: list[str]) -> tuple[int, str]:
    """How the tests end in a fork of this process: pytest's exit code, and what it printed."""
    log = os.path.join(os.path.dirname(copy), "log")
    child = os.fork()
    if not child:
        run_in_child(tests, log)
    until = time.monotonic() + PATIENCE
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
    with open(log, encoding="utf-8", errors="replace") as file:
        return os.waitstatus_to_exitcode(ended[1]), file.read()


def run_in_child(tests: list[str], log: str) -> None:
    code = 3
    try:
        os.setsid()
        for number, target in enumerate((os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))):
            os.dup2(target, number)
        os.dup2(1, 2)
        os.chdir(copy)
        sys.path[0] = copy
        own = [f"--basetemp={os.path.dirname(copy)}/tmp", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
        own += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of the libraries, which are loaded already
        code = pytest.main([*own, *tests])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names; all mutants if left out")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 2) * 3 // 2)
    options = parser.parse_args()
    chosen = [mutant for mutant in load() if not options.names or any(part in mutant.name for part in options.names)]
    killed = 0
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="truecall-mutants-") as base, \
            ProcessPoolExecutor(options.jobs, context, prepare, (base,)) as pool:  # fmt: skip
        for mutant, (end, seconds, test) in zip(chosen, pool.map(judge, chosen), strict=True):
            killed += end == "killed"
            print(f"{end:<9} {seconds:5.1f} s  {mutant.name}  [{test}]", flush=True)
    print(f"{len(chosen)} mutants, {killed} killed")
    return 0 if chosen and killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
