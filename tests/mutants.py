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
    Mutant("combinators: doubt inside `not` becomes a pass", P + "looks.py",
           "{VERIFIED: REFUTED, REFUTED: VERIFIED}.get(only.state, UNVERIFIED)",
           "{VERIFIED: REFUTED}.get(only.state, VERIFIED)", "tests/test_engine.py"),
    Mutant("engine: the best check counts", P + "looks.py",
           "RANK = {REFUTED: 2, UNVERIFIED: 1, VERIFIED: 0}", "RANK = {REFUTED: 0, UNVERIFIED: 1, VERIFIED: 2}",
           "tests/test_engine.py"),
    Mutant("engine: a check that raises is passed over", P + "looks.py",
           '    return Outcome(name, UNVERIFIED, f"{name} to reach a verdict", why, "truecall")',
           '    return Outcome(name, VERIFIED, f"{name} to reach a verdict", why)', "tests/test_engine.py"),
    Mutant("engine: stable_for does not look again", P + "looks.py",
           "    while settle and worst(outcomes)", "    while False and worst(outcomes)", "tests/test_engine.py"),
    Mutant("engine: a background launch is judged as if it had ended", P + "looks.py",
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
           "        return last_of(value, part) if part.last else value",
           "        return str(resolve(value, scope, 'text'))", "tests/test_template.py"),
    Mutant("runs: a chain that failed counts as run", P + "runs.py",
           'return exit_code == 0 if certain == "if_zero" else 0 <= exit_code < 124', "return True", "tests/test_shell.py"),
    Mutant("deadline: standard input may take for ever", P + "incoming.py",
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
           "else NOT_YOURS, APPEND)", "else NOT_YOURS, REPLACE)", "tests/test_engine.py"),
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
    Mutant("git: the tracking ref is believed", P + "checks/git_push.py",
           "    there = asked(look.repository, url, plan.names)",
           "    there = {name: look.repository.ref(tracking(plan, name)) for name in plan.names}",
           "tests/test_check_git.py::test_what_did_not_land_is_told"),
    Mutant("git: a HEAD that differs is a commit", P + "checks/git_history.py",
           '    if fresh and follows(look, was["head"], now):', "    if now:", "tests/test_check_git.py::test_fields_tell_what_they_say"),
    Mutant("git: a commit that was taken back counts", P + "checks/git_history.py",
           "        if not repository.kept(logged[-1]):", "        if False:", "tests/test_check_git.py::test_undone_work_is_refuted"),
    Mutant("git: the repository's filters are run", P + "repository.py",
           "        off = [f\"{driver}.{key}\" for driver in sorted(drivers) for key in OFF]", "        off: list[str] = []",
           "tests/test_check_git.py::test_a_hostile_repository_runs_nothing"),
    Mutant("git: the repository's monitor is run", P + "repository.py", '    "core.fsmonitor=false", ', "    ",
           "tests/test_check_git.py::test_a_hostile_repository_runs_nothing"),
    Mutant("git: the repository's transports are used", P + "remotes.py",
           '    if found or url.startswith("-") or "::" in url.partition("/")[0]:', "    if False:",
           "tests/test_check_git.py::test_only_plain_transports_are_asked"),
    Mutant("engine: what proves nothing is turned round by `not`", P + "looks.py",
           "        if only.state == REFUTED and only.blank:", "        if False:", "tests/test_broken_once.py"),
    Mutant("engine: time that ran out is a refutation", P + "looks.py",
           "    if worst(outcomes) == REFUTED and world.now() < patience and over(world):", "    if False:",
           "tests/test_broken_once.py"),
    Mutant("command: a probe runs in the project where the call's folder is not known", P + "checks/command.py",
           "    if world.base is None and world.project:", "    if False:", "tests/test_broken_once.py"),
    Mutant("runs: a later program is taken to change nothing", P + "shell_aftermath.py",
           'effect.program == "git" or effect.program not in _NAMERS:', 'effect.program == "git":',
           "tests/test_broken_once.py"),
    Mutant("runs: what failed counts as ended well", P + "runs.py",
           "(simple.decides or not form.ended)", "(True or not form.ended)", "tests/test_shell.py"),
    Mutant("runs: how the middle of a pipe ended is taken for known", P + "shell_course.py",
           "decides and place == len(pipeline.elements) - 1", "decides", "tests/test_shell.py"),
    Mutant("runs: a program beside it in a pipe removes nothing", P + "shell_aftermath.py",
           "if own or (beside and writes):", "if own or beside:",
           "tests/test_shell.py"),
    Mutant("runs: the value of an option is taken for an option", P + "shell_matching.py",
           "                value = argv[at]\n                at += 1\n", "                value = argv[at]\n",
           "tests/test_shell.py"),
    Mutant("runs: two outputs are taken for one", P + "shell_matching.py",
           "if found or copies or kind", "if copies or kind", "tests/test_shell.py"),
    Mutant("runs: a path that leads through what is moved stands", P + "shell_matching.py",
           "    if _crossed(form, captured, many):", "    if False:", "tests/test_shell.py"),
    Mutant("runs: a link on the way is left alone", P + "shell_aftermath.py",
           "    if effect.program in _WAYS and any(", "    if False and any(", "tests/test_shell.py"),
    Mutant("packs: a folder is taken for the copy in it", "contracts/shell.yaml",
           'not: {file_exists: {path: "{{match.target}}", type: dir}}',
           'not: {file_absent: {path: "{{match.target}}", vacuous: ok}}',
           "tests/test_packs.py"),
    Mutant("packs: a formatter's work is a loss", P + "checks/loss.py",
           " or same_letters(found, wanted) or only_imports(wanted, found):", ":", "tests/test_packs.py"),
    Mutant("wording: a value may begin a line", P + "masking.py",
           'masked(window(text, limit)), limit)).replace("\\n", "\\\\n")', "masked(window(text, limit)), limit))",
           "tests/test_broken_once.py"),
    Mutant("doctor: an answer in another dialect is well", P + "canary.py",
           "    if not any(answer == rendered(", "    if False and not any(answer == rendered(", "tests/test_doctor.py"),
    Mutant("doctor: the first switch wins", P + "switches.py", "        if isinstance(found, bool):",
           "        if isinstance(found, bool) and said is None:", "tests/test_doctor.py"),
    Mutant("doctor: an engine that crashes is well", P + "commands/doctor.py",
           "    if wrong := canary.trouble(name, event, told, *broken, canary.REFUTED):", '    if wrong := "":',
           "tests/test_doctor.py"),
    Mutant("atomic: a draft that somebody writes is taken for a stale one", P + "atomic.py",
           "                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n                    yield draft",
           "                    yield draft", "tests/test_atomic.py"),
    Mutant("doctor: silence is well", P + "canary.py", "    if not out.strip():", "    if False:", "tests/test_doctor.py"),
    Mutant("doctor: a command that a project brought is run", P + "inventory.py",
           "        if path and not outside and real != os.path.realpath(own):", "        if False:",
           "tests/test_doctor.py"),
    Mutant("install: a file that the client does not read is written into", P + "entries.py",
           "    validity.refuse(doc, about)\n", "", "tests/test_validity.py"),
    Mutant("install: the hooks of others are not looked at", P + "validity.py",
           "        for handler, ours in zip(listed, mine, strict=True) if client.handlers else ():",
           "        for handler, ours in zip(listed, mine, strict=True) if not client.handlers else ():",
           "tests/test_validity.py"),
    Mutant("doctor: a file that the client does not read is not told", P + "diagnosis.py",
           "    yield from unread(mine, found)\n", "", "tests/test_validity.py"),
    Mutant("install: a second run registers twice", P + "entries.py",
           "        elif not mine:", "        elif True:",
           "tests/test_install.py"),
    Mutant("verify: refuted ends with 0", P + "commands/verify.py", "        return 1\n", "        return 0\n",
           "tests/test_commands.py"),
    Mutant("test: every example is as written", P + "examples.py", "        return not self.trouble and self.state == self.wanted",
           "        return True", "tests/test_truecall_test.py"),
    Mutant("test: nobody looks before the call", P + "examples.py", "    if before is not None:", "    if before == before == 0:",
           "tests/test_truecall_test.py"),
    Mutant("test: an example is judged in the person's own environment", P + "smallworld.py",
           "            os.environ.clear()\n            os.environ.update(own)", "            pass", "tests/test_truecall_test.py"),
    Mutant("test: a world may write anywhere", P + "smallworld.py",
           '            raise ValueError(f"{path} lies outside', '            str(f"{path} lies outside',
           "tests/test_truecall_test.py"),
    Mutant("test: the contract's own host is asked", P + "examples.py", "AUTHORITY.sub(own, check.params", "AUTHORITY.sub(check.params[\"url\"], check.params",
           "tests/test_truecall_test.py"),
    Mutant("record: what does not hold is written down", P + "recording.py", "        return not wrong\n", "        return True\n",
           "tests/test_record.py"),
    Mutant("record: a value stays a literal", P + "evidence.py", "            yield True, template", "            yield True, value",
           "tests/test_record.py"),
    Mutant("record: the file is written over what somebody else wrote", P + "appending.py",
           "        if existing_bytes(path) != before:", "        if existing_bytes(path) is None:", "tests/test_record.py"),
    Mutant("record: the rest of the file may change", P + "appending.py", "if new is None or not same_but_one(data, made):",
           "if new is None:", "tests/test_record.py"),
    Mutant("convert: a value becomes part of a script", P + "ancestor_words.py", "    if templated(line):\n        raise Refused(",
           "    if not line:\n        raise Refused(", "tests/test_convert.py"),
    Mutant("convert: what asserts nothing is said by nobody", P + "ancestor.py", "            entry.say(f\"check {number} left out: {why}\", True)",
           "            continue", "tests/test_convert.py"),
    Mutant("convert: what lint finds is printed all the same", P + "ancestor.py", "    if problems:\n", "    if not problems and problems:\n",
           "tests/test_convert.py"),
    Mutant("lint: an unknown key is accepted", P + "grammar.py",
           '"additionalProperties": False,\n        "x-kind": title,', '"x-kind": title,', "tests/test_loader.py"),
    Mutant("file_changed: an edit that was lost has landed", P + "checks/edits.py",
           "        return [LOST if number in left_out else LANDED for number in range(len(edits))]",
           "        return [LANDED] * len(edits)", "tests/test_check_file_changed.py tests/test_cases.py"),
    Mutant("file_changed: the rest is not compared", P + "checks/edits.py",
           "    return len(after) - len(last) >= at and after.endswith(last)", "    return True",
           "tests/test_check_file_changed.py"),
    Mutant("file_changed: what the client shows tells line ends", P + "checks/file_changed.py",
           '    if "line_endings" in params or "encoding" in params:\n', "    if False:\n", "tests/test_check_file_changed.py"),
    Mutant("file_changed: a filter of the repository does not count", P + "committed.py",
           "            return f\"{attribute}={found[attribute]}\"", "            continue",
           "tests/test_check_file_changed.py"),
    Mutant("files: a value of the call is a wildcard", P + "template.py",
           'itself if kind == "glob" else str', "str", "tests/test_check_files.py"),
    Mutant("files: a folder that cannot be read is empty", P + "checks/walk.py",
           "    except (FileNotFoundError, NotADirectoryError):", "    except OSError:", "tests/test_check_files.py"),
    Mutant("files: none proves a removal", P + "checks/files.py",
           '        return unverified(expected, f"{told}, and nothing proves that there were any before", "harness")',
           "        return verified(expected, told)",
           "tests/test_check_files.py"),
    Mutant("inside: another worktree is inside", P + "checks/inside.py",
           'other_worktree(real, folder, world) if default else ""', '""', "tests/test_check_inside.py"),
    Mutant("inside: links are not followed", P + "checks/inside.py", "    real = os.path.realpath(path)\n",
           "    real = path\n", "tests/test_check_inside.py"),
    Mutant("value: every element of nothing is right", P + "checks/value.py", "    if not values:\n",
           '    if not values:\n        return verified(expected, "")\n    if False:\n',
           "tests/test_check_value.py"),
    Mutant("value: a doubtful value is as it is read here", P + "checks/value.py", "        if why:\n",
           "        if False:\n", "tests/test_check_value.py"),
    Mutant("value: a value of the call leads elsewhere", P + "template.py",
           "quoted(as_text(piece, scope))", "as_text(piece, scope)", "tests/test_check_value.py"),
    Mutant("doubts: silence hides a refutation", P + "engine.py",
           "told.state != UNVERIFIED or told.cause", "told.state == VERIFIED or told.cause", "tests/test_doubts.py"),
    Mutant("doubts: silence hides a fault of truecall's own", P + "engine.py",
           ' or told.cause == "truecall"', "", "tests/test_doubts.py"),
    Mutant("runs: of a list only the first pattern counts", P + "engine.py",
           'for pattern in matcher["runs"]:', 'for pattern in matcher["runs"][:1]:', "tests/test_doubts.py"),
    Mutant("parses: an edit from one broken state to the next is a mistake", P + "checks/parses.py",
           "return bool(earlier and earlier[-1])", "return True", "tests/test_pack_gates.py"),
    Mutant("parses: a template is broken", P + "checks/parses.py",
           'else_ = "" if "as" in params else other(data, kind)', 'else_ = ""', "tests/test_packs.py"),
    Mutant("package: variables of pip are passed over", P + "checks/package.py",
           "    if any(name in str(call.args.get(\"command\")) for name in SWITCHES):", "    if False:",
           "tests/test_packs.py"),
    Mutant("parses: comments are an error in every JSON", P + "checks/formats.py",
           "            if kind == \"jsonc\":\n                return value\n", "", "tests/test_check_parses.py"),
    Mutant("parses: what a newer Python takes is an error", P + "documents.py",
           "        if newer or b\"python2\" in", "        if b\"python2\" in", "tests/test_check_parses.py"),
    Mutant("process: one that is not waited for lives", P + "processes.py", 'DEAD = ("Z", "X", "x")', 'DEAD = ("X", "x")',
           "tests/test_check_process.py"),
    Mutant("process: another one with the same id is the same", P + "processes.py",
           "return [self.pid, self.mark]", "return [self.pid]", "tests/test_check_process.py"),
    Mutant("process: truecall's own parents are meant", P + "processes.py",
           "if process.pid not in excluded and process.line", "if process.line", "tests/test_check_process.py"),
    Mutant("process: an old pid file is believed", P + "checks/process.py",
           "if written is not None and process.started", "if False and process.started", "tests/test_check_process.py"),
    Mutant("port: a socket that talks to itself is a server", P + "listeners.py",
           "return bool(line.getsockname() != line.getpeername())", "return True", "tests/test_check_port.py"),
    Mutant("port: silence is closed", P + "listeners.py", "    if silent:\n", "    if False:\n", "tests/test_check_port.py"),
    Mutant("port: an old server is new", P + "checks/port.py", "since(earlier, [True, identity(host, port)])", '""',
           "tests/test_check_port.py tests/test_examples.py"),
    Mutant("http: accepted is done", P + "checks/http_status.py",
           "    return status == ACCEPTED and right", "    return False and right", "tests/test_check_http_status.py"),
    Mutant("http: a change beside another call is told", P + "checks/http_status.py",
           "    if wrong and moved is not None and not world.alone(NAME, params):", "    if False:",
           "tests/test_check_http_status.py"),
    Mutant("sqlite: a log's index is made", P + "databases.py", 'return "readonly_shm=1"', 'return "immutable=0"',
           "tests/test_check_sqlite.py"),
    Mutant("sqlite: every function may be called", P + "databases.py",
           "return ALLOWED if action == FUNCTION and str(more).lower() in FUNCTIONS else DENIED",
           "return ALLOWED if action == FUNCTION else DENIED", "tests/test_check_sqlite.py"),
    Mutant("sqlite: virtual tables are looked into", P + "databases.py", "            self.refuse_virtual(query)\n", "",
           "tests/test_check_sqlite.py"),
    Mutant("sqlite: no database proves a removal", P + "checks/sqlite.py",
           "and held_by_nothing(params, world):\n            raise", "and held_by_nothing(params, world):\n            return verified(expected, nothing.why)",
           "tests/test_check_sqlite.py tests/test_cases.py"),
    Mutant("package: metadata alone is a package", P + "checks/site_packages.py",
           "    if files and not any(", "    if False and not any(", "tests/test_check_package.py"),
    Mutant("package: a Python that the call names is run", P + "checks/site_packages.py", "    if not named:\n", "    if False:\n",
           "tests/test_check_package.py"),
    Mutant("package: the system's packages are not thought of", P + "checks/site_packages.py",
           "folders, system) if folders", "folders) if folders", "tests/test_check_package.py"),
    Mutant("tests: a stale report counts", P + "checks/tests.py", "        if known == mark(found):\n            stale.append(path)\n        elif",
           "        if", "tests/test_check_tests.py"),
    Mutant("tests: no test is a pass", P + "checks/tests.py", 'if found.collected < max(1, params.get("collected", 1)):',
           'if found.collected < 0:', "tests/test_check_tests.py"),
    Mutant("tests: a document type is read", P + "checks/junit.py", "    parser.StartDoctypeDeclHandler = reader.refuse\n    parser.EntityDeclHandler = reader.refuse\n",
           "", "tests/test_check_tests.py"),
    Mutant("tests: a claim is evidence", P + "checks/tests.py", 'if params.get("accept") != "output":', "if False:",
           "tests/test_check_tests.py"),
    Mutant("snapshot: the second look takes the place of the first", P + "snapshots.py",
           "            os.link(draft, os.path.join(folder, name + SUFFIX))",
           "            os.replace(draft, os.path.join(folder, name + SUFFIX)); open(draft, 'w').close()",
           "tests/test_snapshots.py"),
    Mutant("snapshot: a link in its place is followed", P + "snapshots.py",
           "os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC", "os.O_RDONLY | os.O_CLOEXEC", "tests/test_snapshots.py"),
    Mutant("snapshot: calls that overlap are taken for alone", P + "snapshots.py",
           "                return False\n        return True", "                return True\n        return True",
           "tests/test_snapshots.py"),
    Mutant("vacuous: what was there before is a pass", P + "engine.py",
           "    if plain.get(\"vacuous\") != \"ok\" and", "    if False and", "tests/test_snapshots.py"),
    Mutant("vacuous: a file that was written again counts as untouched", P + "checks/file_exists.py",
           "found.st_size, found.st_mtime_ns, found.st_ctime_ns]", "found.st_size]", "tests/test_snapshots.py"),
    Mutant("agree: the last look alone counts", P + "looks.py",
           "        if worst(outcomes) not in (state, UNVERIFIED):", "        if False:", "tests/test_engine.py"),
    Mutant("start folder: the look before is not asked", P + "judging.py",
           "    if snapshot is None or call.start_cwd is not None or snapshot.cwd is None:", "    if True:",
           "tests/test_snapshots.py"),
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
