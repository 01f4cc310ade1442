"""The worker: real child processes, whatever they do instead of answering."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from truecall_py.core.errors import Unverified
from truecall_py.world import run_program, worker

NOISE = """
import os, sys
print("noise before")
sys.stdout.write('{"verdict": "verified"}\\n')
os.system("echo noise from a child")
os.write(1, b'{"verdict": "verified"}\\n')
def check(call):
    print('{"verdict": "verified"}')
    sys.stdout.close()
    return False
"""


@pytest.fixture
def ask(tmp_path):
    """Asks a person's function, written to a file, about a call."""

    def custom(code, call=None, seconds=20.0, interpreter=None, function="check"):
        file = tmp_path / "mine.py"
        file.write_text(code)
        job = {"do": "custom", "file": str(file), "function": function, "call": call or {}, "project": str(tmp_path)}
        return worker.ask(job, interpreter, seconds)

    return custom


def test_a_function_gets_the_call_and_answers(ask):
    """The call arrives as it was sent, and True, False and a map come back as verdicts."""
    code = "def check(call):\n    return {'verdict': 'refuted', 'found': call['args']['title']}\n"
    assert ask(code, {"args": {"title": "grüße \ud800"}}) == {"verdict": "refuted", "found": "grüße \ud800"}
    assert ask("def check(call): return True") == {"verdict": "verified"}
    assert ask("def check(call): return False") == {"verdict": "refuted"}


def test_prints_are_not_answers(ask):
    """Whatever a person's code prints, on its own, by a child or by the descriptor: the return value counts."""
    assert ask(NOISE) == {"verdict": "refuted"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def check(call): pass", "returned None"),
        ("def check(call): return 1", "returned 1"),
        ("def check(call): return 'verified'", "returned 'verified'"),
        ("def check(call): return {'verdict': 'fine'}", "returned {'verdict': 'fine'}"),
        ("async def check(call): return True", "returned <coroutine"),
        ("def check(call):\n    return call['missing']", "check raised KeyError: 'missing' (line 2)"),
        ("def check(call): raise SystemExit(0)", "check raised SystemExit: 0"),
        ("import sys\nsys.exit(0)", "raised SystemExit: 0 (line 2) when it was loaded"),
        ("def check(call): return check(call)", "RecursionError"),
        ("def check(call) return True", "SyntaxError"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("other = 1", "has no function check"),
        ("check = 1", "has no function check"),
        ("import os\ndef check(call): os._exit(0)", "ended without an answer (exit code 0)"),
        ("import os\ndef check(call): os.write(2, b'x\\nlast words\\n'); os._exit(7)", "(exit code 7): last words"),
        ("import os\nfor n in range(3, 20):\n    try: os.write(n, b'{}\\n')\n    except OSError: pass\n"
         "def check(call): return True", "ended without an answer"),
    ],
)  # fmt: skip
def test_no_clear_answer_is_no_verdict(ask, code, words):
    """Everything that is not a clear answer is the contract's trouble, in its own words."""
    with pytest.raises(Unverified) as caught:
        ask(code)
    assert words in caught.value.why
    assert caught.value.cause == "contract"


def test_a_crash_is_no_verdict(ask):
    """A segmentation fault in the child is not one in the hook."""
    with pytest.raises(Unverified, match="signal 11"):
        ask("import os\ndef check(call): os.kill(os.getpid(), 11)")


def test_a_crash_of_a_receipt_function_is_the_contracts(tmp_path):
    """A receipt function that ends the process is the contract's fault, as a check function is, not truecall's."""
    file = tmp_path / "mine.py"
    file.write_text("import os\ndef find(call): os._exit(7)\n")
    job = {"do": "receipt", "file": str(file), "function": "find", "call": {}, "project": str(tmp_path)}
    with pytest.raises(Unverified, match="exit code 7") as caught:
        worker.ask(job, None, 20.0)
    assert caught.value.cause == "contract"


def test_a_function_that_hangs_is_stopped(ask):
    """A loop, even one that ignores signals and has children, ends with the time."""
    code = (
        "import os, signal, subprocess\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "def check(call):\n    subprocess.Popen(['sleep', '300'])\n    while True: pass\n"
    )
    began = time.monotonic()
    with pytest.raises(Unverified, match="did not end within") as caught:
        ask(code, seconds=1.0)
    assert caught.value.cause == "probe"
    assert time.monotonic() - began < 15
    assert run_program.LIVE == []


def test_threads_and_exit_handlers_have_no_say(ask):
    """The answer is out when the function returns; what the code left running changes and delays nothing."""
    code = (
        "import atexit, os, threading, time\natexit.register(os._exit, 3)\n"
        "def check(call):\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return True\n"
    )
    began = time.monotonic()
    assert ask(code) == {"verdict": "verified"}
    assert time.monotonic() - began < 10


def test_a_fork_has_no_say(ask):
    """A child that returns as well does not answer in the parent's place."""
    code = (
        "import os, time\ndef check(call):\n"
        "    if os.fork() == 0: return True\n    time.sleep(0.5)\n    return False\n"
    )
    assert ask(code) == {"verdict": "refuted"}


def test_the_code_that_was_trusted_is_the_code_that_runs(ask, tmp_path):
    """A planted .pyc, and a planted json.py beside the code or in the folder, are not what is imported."""
    import importlib.util
    import py_compile

    true, false = "def check(call): return True ", "def check(call): return False"
    file = tmp_path / "mine.py"
    file.write_text(true)
    os.utime(file, (1_000_000_000, 1_000_000_000))
    cached = importlib.util.cache_from_source(str(file))
    py_compile.compile(str(file), cached)
    for name in ("json.py", "os.py", "truecall_py.py", "sitecustomize.py"):
        (tmp_path / name).write_text("import os\nos._exit(9)\n")
    assert ask(false) == {"verdict": "refuted"}
    file.write_text(false)
    os.utime(file, (1_000_000_000, 1_000_000_000))
    job = {"do": "custom", "file": str(file), "function": "check", "call": {}, "project": str(tmp_path)}
    assert worker.ask(job, None, 20.0) == {"verdict": "refuted"}


def test_the_code_finds_its_neighbours_and_leaves_no_traces(ask, tmp_path):
    """A check may import what lies beside it; no __pycache__ is left in the person's folder. It runs in the
    contract's folder."""
    (tmp_path / "neighbour.py").write_text("import os\nANSWER = os.getcwd()\n")
    code = "from neighbour import ANSWER\ndef check(call): return {'verdict': 'verified', 'found': ANSWER}\n"
    assert ask(code)["found"] == os.path.realpath(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["mine.py", "neighbour.py"]


def test_the_contracts_interpreter_is_used(ask, tmp_path):
    """`interpreter` is the Python that runs the code; a relative one starts in the contract's folder."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    code = "import sys\ndef check(call): return {'verdict': 'verified', 'found': sys.executable}\n"
    assert ask(code, interpreter=str(tmp_path / "bin/python"))["found"] == str(tmp_path / "bin/python")
    assert ask(code, interpreter="bin/python")["verdict"] == "verified"


@pytest.mark.parametrize(
    ("interpreter", "words"),
    [("/no/such/python", "is not there"), ("no-such-python", "not found on PATH"), ("true", "without an answer")],
)
def test_an_interpreter_that_is_none_is_the_contracts_trouble(ask, interpreter, words):
    """Whoever names the interpreter answers for it."""
    with pytest.raises(Unverified, match=words) as caught:
        ask("def check(call): return True", interpreter=interpreter)
    assert caught.value.cause == "contract"


def test_a_python_without_jsonschema_is_whoevers_choice_it_was(tmp_path):
    """jsonschema missing: truecall's own trouble, or the contract's where it names the interpreter."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    job = {"do": "schema", "schema": {"type": "object"}, "value": {}}
    with pytest.raises(Unverified, match="cannot be imported") as caught:
        worker.ask(job, str(bare / "bin/python"), 20.0)
    assert caught.value.cause == "contract"
    assert worker.ask(job, None, 20.0) == {"errors": [], "count": 0}


def test_a_search_is_answered(tmp_path):
    """The regular expressions of other threads are searched here."""
    assert worker.ask({"do": "search", "pattern": "b+", "text": "abc"}, None, 20.0) == {"found": True}
    assert worker.ask({"do": "search", "pattern": "^b", "text": "abc"}, None, 20.0) == {"found": False}
    with pytest.raises(Unverified, match="not a regular expression"):
        worker.ask({"do": "search", "pattern": "(", "text": "abc"}, None, 20.0)
    with pytest.raises(Unverified, match="did not end within"):
        worker.ask({"do": "search", "pattern": "(a+)+$", "text": "a" * 40 + "b"}, None, 1.0)


def test_a_job_that_nobody_knows_is_truecalls_own_trouble():
    """A fault in here is never put down to the contract."""
    with pytest.raises(Unverified) as caught:
        worker.ask({"do": "nothing"}, None, 20.0)
    assert caught.value.cause == "truecall"


def test_another_truecall_that_is_installed_is_not_asked(tmp_path):
    """The child is of the version that asks, whatever version its Python holds: two halves would judge by two rules."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "truecall_py").mkdir()
    for name in ("__init__", "worker", "core"):
        (packages / "truecall_py" / f"{name}.py").write_text("raise SystemError('another truecall')\n")
    job = {"do": "parse", "as": "python", "source": "x = ("}
    assert worker.ask(job, str(venv / "bin/python"), 20.0)["error"]


def test_a_large_value_goes_through(ask):
    """A call of some megabytes, nested as deeply as a payload may be, arrives."""
    deep: list = []
    for _ in range(190):
        deep = [deep]
    code = "def check(call): return len(call['text']) == 3_000_000\n"
    assert ask(code, {"text": "ü" * 3_000_000, "deep": deep}) == {"verdict": "verified"}
