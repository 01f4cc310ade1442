"""The shipped contracts: each passes an honest call, refuses a lie, and stays silent to what is not its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from support.case import Case

from truecall_py.core import paths
from truecall_py.core.types import REFUTED, VERIFIED
from truecall_py.trust.pin import load_untrusted

HERE = Path(__file__).parent.parent / "data" / "pack_cases"
SHIPPED = Path(paths.find_packs_folder())
PACKS = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
SORTS = ("pass", "fail", "silent")


def calls():
    for path in sorted(HERE.glob("*.yaml")):
        for contract, sorts in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            for sort, rows in sorts.items():
                for row in rows:
                    name = f"{path.stem}/{contract}/{sort}/{row['name']}"
                    plain = {"world": row.get("world"), "payload": row["payload"], "expect": {}}
                    plain |= {"before": row["before"]} if "before" in row else {}
                    yield pytest.param(path.stem, contract, sort, Case(name, plain), id=name.replace(" ", "-"))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Each pack alone, compiled once."""
    found = {}
    for name in PACKS:
        path = tmp_path_factory.mktemp(name) / "truecall.yaml"
        path.write_text(f"version: 1\nuse: [{name}]\ncontracts: []\n")
        found[name] = [load_untrusted(str(path))]
    return found


@pytest.mark.parametrize(("pack", "contract", "sort", "case"), list(calls()))
def test_a_shipped_contract_judges_as_it_should(pack, contract, sort, case, tmp_path, monkeypatch, sources):
    """No word on honest work, a refusal of what the contract is about, no judgement of what it is not about."""
    case.build(tmp_path)
    for name, value in case.environment({}).items():
        monkeypatch.setenv(name, value)
    judgement = case.judgement(sources[pack])
    own = [verdict for verdict in judgement.verdicts if verdict.contract == contract]
    if sort == "fail":
        assert REFUTED in [verdict.state for verdict in own]
        headline = "NOT MADE" if judgement.call.event == "PreToolUse" else "NOT DONE"
        assert judgement.correction.replace and judgement.correction.text.startswith(headline)
        return
    if sort == "silent":  # another contract of the pack may be about it
        assert own == []
        return
    assert judgement.correction is None, judgement.correction.text
    assert {verdict.state for verdict in own} <= {VERIFIED}


def test_no_shipped_contract_is_without_calls():
    """Every contract of every pack has a call that it passes, one that it refuses, one that it leaves alone."""
    told = {}
    for path in HERE.glob("*.yaml"):
        told[path.stem] = {
            name: {sort for sort, rows in sorts.items() if rows}
            for name, sorts in yaml.safe_load(path.read_text(encoding="utf-8")).items()
        }
    shipped = {
        name: [each["id"] for each in yaml.safe_load((SHIPPED / f"{name}.yaml").read_text())["contracts"]]
        for name in PACKS
    }
    assert {name: sorted(ids) for name, ids in shipped.items()} == {name: sorted(ids) for name, ids in told.items()}
    assert all(sorts == set(SORTS) for ids in told.values() for sorts in ids.values())


def test_the_presence_contracts_judge_the_calls_that_they_pass(tmp_path, monkeypatch, sources):
    """The calls that these packs pass are verified, not passed over: they looked at them."""
    for row in calls():
        pack, contract, sort, case = row.values
        if pack not in ("files", "git", "python", "node", "gates", "guards") or sort != "pass":
            continue
        folder = tmp_path / str(abs(hash(case.name)))
        folder.mkdir()
        case.build(folder)
        with monkeypatch.context() as patch:
            for name, value in case.environment({}).items():
                patch.setenv(name, value)
            judgement = case.judgement(sources[pack])
        assert contract in judgement.applied, case.name


# -- one contract file, two harnesses, the real hook process ---------------------------------------------------

ONE = """\
version: 1
contracts:
  - id: written
    kind: [write, edit]
    post: {file_exists: {path: "{{file.path}}", min_size: 1}}
  - id: built
    kind: shell
    when: {args.command: {runs: "make *"}}
    post:
      - result: {of: exit_code, equals: 0}
      - file_exists: {path: build/app}
    repeat: safe
"""
WRITE = {
    "claude-code": {
        "tool_name": "Write",
        "tool_input": {"file_path": "@WORLD@/notes.md", "content": "hello\n"},
        "tool_response": {"type": "create", "filePath": "@WORLD@/notes.md", "originalFile": None},
    },
    "codex": {
        "tool_name": "apply_patch",
        "tool_input": {"command": "*** Begin Patch\n*** Add File: notes.md\n+hello\n*** End Patch\n"},
        "tool_response": "Exit code: 0\nOutput:\nSuccess. Updated the following files:\nA notes.md\n",
    },
}
BUILD = {
    "claude-code": {
        "tool_name": "Bash",
        "tool_input": {"command": "make all"},
        "tool_response": {"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False},
    },
    "codex": {"tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_response": "ok\n"},
}


def case_in(harness, payload, folder):
    case = Case("one", {"contract": ONE, "payload": {"harness": harness, **payload}, "expect": {}})
    folder.mkdir()
    case.build(folder)
    case.pin()
    return case


def transcript(case, code):
    """Codex' own record of the call, as it has written it when the hook starts."""
    path = case.home / ".codex" / "sessions" / "rollout-1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    call = json.loads(case.payload())["tool_use_id"]
    item = {
        "type": "CommandExecution", "id": call, "command": "make all", "cwd": str(case.world), "exit_code": code,
        "status": "completed" if code == 0 else "failed", "aggregated_output": "ok\n",
    }  # fmt: skip
    lines = [
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": item}},
        {"type": "event_msg", "payload": {"type": "token_count"}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def answer(case):
    status, output = case.hook()
    assert status == 0
    return json.loads(output) if output else None


def spoken(harness, found):
    """The correction, in the place in which this harness shows it to the agent."""
    assert found["decision"] == "block"
    if harness == "codex":
        assert found["hookSpecificOutput"]["additionalContext"] == found["reason"]
    return found["reason"]


def test_one_contract_two_harnesses(tmp_path):
    """The same silent failures, judged by one contract file, are caught in Claude Code and in Codex, each in
    its own dialect and in the same words; and where the effect is there, both hear nothing."""
    words = {}
    for harness in ("claude-code", "codex"):
        case = case_in(harness, WRITE[harness], tmp_path / f"write-{harness}")
        words[harness, "write"] = spoken(harness, answer(case))
        assert "nothing at" in words[harness, "write"] and "contract written" in words[harness, "write"]
        (case.world / "notes.md").write_text("hello\n")
        assert answer(case) is None

        case = case_in(harness, BUILD[harness], tmp_path / f"build-{harness}")
        if harness == "codex":
            transcript(case, 0)
        words[harness, "build"] = spoken(harness, answer(case))
        assert os.path.join(case.world, "build/app") in words[harness, "build"]
        (case.world / "build").mkdir()
        (case.world / "build" / "app").write_text("x")
        assert answer(case) is None
    for what in ("write", "build"):
        heads = {text.splitlines()[0].replace(harness, "") for (harness, each), text in words.items() if each == what}
        tails = {text.split("Checked by ")[1].split(", call")[0] for (_, each), text in words.items() if each == what}
        assert all(head.startswith("NOT DONE: ") and "reported success" in head for head in heads)
        assert len(tails) == 1


def test_codex_without_its_record_is_not_called_a_liar(tmp_path):
    """Without the transcript nobody knows the exit code: the real output stays, and the doubt is said beside it."""
    case = case_in("codex", BUILD["codex"], tmp_path / "c")
    (case.world / "build").mkdir()
    (case.world / "build" / "app").write_text("x")
    found = answer(case)
    assert set(found) == {"hookSpecificOutput"}
    assert found["hookSpecificOutput"]["additionalContext"].startswith("NOT CONFIRMED")


def test_an_honest_failure_of_codex_is_not_accused(tmp_path):
    """A command that failed by Codex' own record gets no accusation."""
    case = case_in("codex", BUILD["codex"], tmp_path / "c")
    transcript(case, 2)
    assert answer(case) is None
