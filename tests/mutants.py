"""Breaks the program on purpose, in named places, and sees whether the tests notice.

    python tests/mutants.py [NAME…] [--jobs N]

Each mutant replaces one text in one file of a copy of this checkout and runs the tests that should fail. It is
killed when they do. The command lists all of them and ends with 1 if one survives, or if a text to replace is
no longer there, so that the list cannot rot.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Mutant(NamedTuple):
    """`old` in `file` becomes `new`; `tests` (files, or files::names) must then fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


P = "truecall_py/"
MUTANTS = (
    Mutant("normaliser: the tool's answer is no longer passed on", P + "harnesses/claude_code.py",
           "result, text, is_error = read(answer)", "result, text, is_error = read(ABSENT)", "tests/test_engine.py"),
    Mutant("normaliser: tool_output is not read", P + "harnesses/claude_code.py",
           'payload.get("tool_response", payload.get("tool_output", ABSENT))', 'payload.get("tool_response", ABSENT)',
           "tests/test_harnesses.py"),
    Mutant("normaliser: a failure counts as success", P + "harnesses/claude_code.py",
           "UNKNOWN if unfinished else FAILURE if failed else SUCCESS", "SUCCESS", "tests/test_engine.py"),
    Mutant("normaliser: Claude's exit code is 0 whatever happened", P + "harnesses/claude_code.py",
           "    if what != \"shell\":\n        return None", "    if what == what:\n        return 0",
           "tests/test_harnesses.py"),
    Mutant("normaliser: a patch names no files", P + "harnesses/patch.py", "    return tuple(found)", "    return ()",
           "tests/test_engine.py"),
    Mutant("normaliser: MCP's failure flag is dropped", P + "harnesses/content.py",
           "            return bool(answer[name])", "            return None", "tests/test_harnesses.py"),
    Mutant("normaliser: Codex' exit code is not looked up", P + "transcript.py",
           "return code, SUCCESS if code == 0 else FAILURE", "return 0, SUCCESS", "tests/test_harnesses.py"),
    Mutant("recognition: a foreign payload is taken for Claude's", P + "harnesses/__init__.py",
           "    name = sender(payload)", '    name = "claude-code"', "tests/test_harnesses.py"),
    Mutant("recognition: Copilot's other form is taken for Claude's", P + "harnesses/__init__.py",
           '            return "copilot-cli"\n    return "claude-code"', '            pass\n    return "claude-code"',
           "tests/test_harnesses.py"),
    Mutant("normaliser: a command without an exit code has succeeded", P + "harnesses/content.py",
           "return UNKNOWN if shell and code is None else SUCCESS", "return SUCCESS", "tests/test_harnesses.py"),
    Mutant("normaliser: Gemini's exit code is what a command prints", P + "harnesses/gemini_cli.py",
           '    lines = text[len(head) :].split("\\n")', '    lines = text.split("\\n")', "tests/test_harnesses.py"),
    Mutant("normaliser: Gemini's error in the answer is not read", P + "harnesses/gemini_cli.py",
           '    failed = about.get("error") is not None', "    failed = False", "tests/test_payloads.py"),
    Mutant("normaliser: Copilot's failing command has succeeded", P + "harnesses/copilot_cli.py",
           "        return whole(last[:-1].rpartition(ENDED)[2]), False", "        return 0, False",
           "tests/test_payloads.py"),
    Mutant("normaliser: Copilot's failure is taken for a success", P + "harnesses/copilot_cli.py",
           "    failed = event in FAILED", "    failed = False", "tests/test_payloads.py"),
    Mutant("normaliser: OpenCode's exit code is not read", P + "harnesses/opencode.py",
           '    code = meta.get("exit") if shell else None', "    code = 0 if shell else None",
           "tests/test_payloads.py"),
    Mutant("normaliser: Cline's word counts, not its results", P + "harnesses/cline.py",
           'any(not row["success"] for row in rows)', "False", "tests/test_payloads.py"),
    Mutant("delivery: Qwen is sent a block, which it drops", P + "harnesses/qwen_code.py",
           '{"continue": False, "stopReason": correction.text}', '{"decision": "block", "reason": correction.text}',
           "tests/test_dialects.py"),
    Mutant("delivery: Cline's run is ended", P + "harnesses/cline.py", '"cancel": False', '"cancel": True',
           "tests/test_dialects.py"),
    Mutant("the project is where another client says", P + "hook.py",
           'given = os.environ.get(variable, "") if variable else ""',
           'given = os.environ.get("CLAUDE_PROJECT_DIR", "")', "tests/test_dialects.py"),
    Mutant("file_exists: a folder passes for a file", P + "checks/file_exists.py",
           'if kind != "any" and not KINDS[kind][0](found.st_mode):', "if False:", "tests/test_cases.py"),
    Mutant("file_exists: the content is not compared", P + "checks/file_exists.py",
           "    wrong = content(params, path, call, world)", '    wrong = ""', "tests/test_cases.py"),
    Mutant("file_absent: a dangling link counts as gone", P + "checks/file_absent.py",
           "world.stat(path, follow=False)", "world.stat(path)", "tests/test_cases.py"),
    Mutant("file_absent: an absence that was never a presence", P + "checks/file_absent.py",
           "    if proof:", "    if True:", "tests/test_cases.py"),
    Mutant("http_status: any status will do", P + "checks/http_status.py", "    if not right(answer.status, wanted(params)):", "    if False:",
           "tests/test_check_http_status.py"),
    Mutant("command: the exit code is not looked at", P + "checks/command.py",
           "if finished.exit_code not in wanted_codes(params):", "if False:", "tests/test_check_command.py"),
    Mutant("result: no value is compared", P + "checks/result.py",
           "    if holds(matcher(params), value, world):", "    if True:", "tests/test_examples.py"),
    Mutant("schema: every result is valid", P + "slow_lane.py",
           'errors = list(validator(rules, registry=REGISTRY).iter_errors(job["value"]))', "errors = []", "tests/test_check_schema.py"),
    Mutant("custom: False is a pass", P + "checks/custom.py",
           "return refuted(expected, found) if code else verified(expected, found)", "return verified(expected, found)", "tests/test_check_custom.py"),
    Mutant("combinators: doubt inside `not` becomes a pass", P + "engine.py",
           "{VERIFIED: REFUTED, REFUTED: VERIFIED}.get(only.state, UNVERIFIED)",
           "{VERIFIED: REFUTED}.get(only.state, VERIFIED)", "tests/test_engine.py"),
    Mutant("engine: the best check counts", P + "engine.py",
           "RANK = {REFUTED: 2, UNVERIFIED: 1, VERIFIED: 0}", "RANK = {REFUTED: 0, UNVERIFIED: 1, VERIFIED: 2}",
           "tests/test_engine.py"),
    Mutant("engine: a check that raises is passed over", P + "engine.py",
           '    return Outcome(name, UNVERIFIED, f"{name} to reach a verdict", why, "truecall")',
           '    return Outcome(name, VERIFIED, f"{name} to reach a verdict", why)', "tests/test_engine.py"),
    Mutant("engine: stable_for does not look again", P + "engine.py",
           "    while settle and worst(outcomes)", "    while False and worst(outcomes)", "tests/test_engine.py"),
    Mutant("engine: a background launch is judged as if it had ended", P + "engine.py",
           "    if call.background:\n        why", "    if False:\n        why", "tests/test_engine.py"),
    Mutant("matchers: 1 equals true", P + "matchers.py",
           "    if isinstance(left, bool) or isinstance(right, bool):\n        return left is right\n", "",
           "tests/test_engine.py"),
    Mutant("template: a missing value is an empty text", P + "template.py",
           'raise Unverified(f"{OPEN}{part.path}{CLOSE} is not in this call", "contract")', 'return ""',
           "tests/test_template.py"),
    Mutant("template: a value may climb out of its folder", P + "template.py",
           "    if not whole and climbs(path, pieces):", "    if False:", "tests/test_template.py"),
    Mutant("template: a value may form the host of a URL", P + "template.py",
           "    if forms_authority(pieces):", "    if False:", "tests/test_template.py"),
    Mutant("template: a value is read as a template again", P + "template.py",
           "    if isinstance(value, str):\n        return value\n    if isinstance(value, bool)",
           "    if isinstance(value, str):\n        return str(resolve(value, scope, 'text'))\n"
           "    if isinstance(value, bool)", "tests/test_template.py"),
    Mutant("runs: a chain that failed counts as run", P + "runs.py",
           'return exit_code == 0 if certain == "if_zero" else 0 <= exit_code < 124', "return True", "tests/test_shell.py"),
    Mutant("deadline: standard input may take for ever", P + "hook.py",
           "            if not ready:\n                raise", "            if False:\n                raise",
           "tests/test_fail_closed.py"),
    Mutant("deadline: no alarm is set", P + "hook.py",
           "    signals.setitimer(signals.ITIMER_REAL, seconds)\n", "    pass\n", "tests/test_fail_closed.py"),
    Mutant("boundary: a bug is answered with silence", P + "hook.py",
           "        return loud(options, f\"it met a bug of its own ({type(error).__name__})\", do)",
           "        return Reply()", "tests/test_fail_closed.py"),
    Mutant("boundary: an unreadable payload is answered with silence", P + "hook.py",
           '        return loud(options, f"{where}{error.what}", error.do, harness)', "        return Reply()",
           "tests/test_fail_closed.py"),
    Mutant("launcher: an answer without a seal is let through", "hooks/run.sh",
           '0*"$newline#truecall:end")', "0*)", "tests/test_fail_closed.py"),
    Mutant("JSON: duplicate keys are taken", P + "wire.py", "    if len(found) != len(items):", "    if False:",
           "tests/test_wire.py"),
    Mutant("trust: a changed file is enforced as it stands", P + "trust.py",
           "        return Source(path, project, UNTRUSTED, why=why)", "        return None", "tests/test_fail_closed.py"),
    Mutant("trust: changed code runs all the same", P + "judging.py",
           'changed = changed_code(contract.plain) if contract.plain.get("pins") else ""', 'changed = ""',
           "tests/test_fail_closed.py tests/test_trust.py"),
    Mutant("trust: a store that others can write is believed", P + "trust.py",
           "    elif found.st_mode & (modes.S_IWGRP | modes.S_IWOTH):", "    elif False:", "tests/test_fail_closed.py"),
    Mutant("delivery: doubt about a contract replaces the output", P + "policy.py",
           "    return Delivery(NOT_YOURS, APPEND)", "    return Delivery(NOT_YOURS, REPLACE)", "tests/test_engine.py"),
    Mutant("delivery: Claude's lie stays in front of the model", P + "harnesses/claude_code.py",
           '    if "mcp" in call.kinds:\n        return block', '    if "mcp" in call.kinds:\n        return None',
           "tests/test_hook.py"),
    Mutant("delivery: Codex gets a key that it does not know", P + "harnesses/codex.py",
           '            answer["reason"] = correction.text', '            answer["reason"] = answer["note"] = correction.text',
           "tests/test_hook.py"),
    Mutant("delivery: observe mode blocks", P + "policy.py",
           "    if verdict.mode == OBSERVE and", "    if False and", "tests/test_engine.py"),
    Mutant("wording: secrets are quoted as they are", P + "masking.py",
           "    return harmless(shortened(masked(window(text, limit)), limit))",
           "    return harmless(shortened(window(text, limit), limit))", "tests/test_masking.py"),
    Mutant("wording: only the first failure is told", P + "wording.py",
           "        texts.append(text)\n", "        texts = [text]\n", "tests/test_engine.py tests/test_hook.py"),
    Mutant("packs: a cut-off file is let through", P + "checks/loss.py",
           "    if wanted.startswith(found.rstrip()):", "    if False:",
           "tests/test_packs.py tests/test_payloads.py"),
    Mutant("engine: what proves nothing is turned round by `not`", P + "engine.py",
           "        if only.state == REFUTED and only.blank:", "        if False:", "tests/test_broken_once.py"),
    Mutant("engine: time that ran out is a refutation", P + "engine.py",
           "    if worst(outcomes) == REFUTED and world.now() < patience and over(world):", "    if False:",
           "tests/test_broken_once.py"),
    Mutant("command: a probe runs in the project where the call's folder is not known", P + "checks/command.py",
           "    if world.base is None and world.project:", "    if False:", "tests/test_broken_once.py"),
    Mutant("runs: a later program is taken to change nothing", P + "shell_aftermath.py",
           'effect.program == "git" or effect.program not in _NAMERS:', 'effect.program == "git":',
           "tests/test_broken_once.py"),
    Mutant("packs: a formatter's work is a loss", P + "checks/loss.py",
           " or same_letters(found, wanted) or only_imports(wanted, found):", ":", "tests/test_packs.py"),
    Mutant("wording: a value may begin a line", P + "masking.py",
           'masked(window(text, limit)), limit)).replace("\\n", "\\\\n")', "masked(window(text, limit)), limit))",
           "tests/test_broken_once.py"),
    Mutant("doctor: an answer in another dialect is well", P + "canary.py",
           "    if not any(answer == rendered(", "    if False and not any(answer == rendered(", "tests/test_doctor.py"),
    Mutant("doctor: silence is well", P + "canary.py", "    if not out.strip():", "    if False:", "tests/test_doctor.py"),
    Mutant("doctor: a command that a project brought is run", P + "inventory.py",
           "        if path and not outside and real != os.path.realpath(own):", "        if False:",
           "tests/test_doctor.py"),
    Mutant("install: a second run registers twice", P + "entries.py",
           "        elif not mine:", "        elif True:",
           "tests/test_install.py"),
    Mutant("verify: refuted ends with 0", P + "commands/verify.py", "        return 1\n", "        return 0\n",
           "tests/test_commands.py"),
    Mutant("lint: an unknown key is accepted", P + "grammar.py",
           '"additionalProperties": False,\n        "x-kind": title,', '"x-kind": title,', "tests/test_loader.py"),
)  # fmt: skip


def copied(target: str) -> None:
    """The checkout as it stands, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source = os.path.join(ROOT, name)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copy2(source, os.path.join(target, name))


def tests(folder: str, names: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *names.split()]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, env=env, timeout=900)


def outcome(mutant: Mutant) -> str:
    """killed | SURVIVED | or what is wrong with the mutant itself."""
    with tempfile.TemporaryDirectory(prefix="truecall-mutant-") as folder:
        copied(folder)
        path = os.path.join(folder, mutant.file)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(mutant.old) != 1:
            return f"CANNOT BE MADE: its text stands {text.count(mutant.old)} times in {mutant.file}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(mutant.old, mutant.new))
        done = tests(folder, mutant.tests)
    if done.returncode == 0:
        return "SURVIVED"
    return "killed" if done.returncode == 1 else f"CANNOT BE RUN: {(done.stdout + done.stderr)[-300:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names; all mutants if left out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    chosen = [each for each in MUTANTS if not options.names or any(part in each.name for part in options.names)]
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, end in zip(chosen, pool.map(outcome, chosen), strict=True):
            bad += end != "killed"
            print(f"{end:<9} {mutant.name}", flush=True)
    print(f"{len(chosen)} mutants, {len(chosen) - bad} killed")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
