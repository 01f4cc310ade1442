"""The cases of tests/data/cases: worlds, calls and contracts, and the verdict that each must get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.case import HERE, Case, load
from support.project import ROOT

from truecall_py import checks

FILES = sorted(HERE.glob("*/*.yaml"))
CASES = [case for path in FILES for case in load(path)]
PUBLIC = [case for case in CASES if case.name.startswith("public/")]


def named(cases):
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.fixture
def built(request, tmp_path):
    case = request.param
    needs = case.plain.get("needs", [])
    if "not-root" in needs and os.geteuid() == 0:
        pytest.skip("root may read everything")
    case.build(tmp_path)
    yield case
    case.close()


@pytest.mark.parametrize("built", named([case for case in CASES if "judge" in case.through]), indirect=True)
def test_the_verdict_is_the_one_that_the_world_deserves(built, monkeypatch):
    """Each case gets its verdict, with what was expected and found, and nothing is left behind in its world."""
    began = time.monotonic()
    found = built.judged(monkeypatch)
    took = time.monotonic() - began
    built.check_judgement(found)
    built.check_world()
    assert took < built.expect.get("seconds", 10)


@pytest.mark.parametrize("built", named([case for case in PUBLIC if "hook" in case.through]), indirect=True)
def test_the_hook_process_answers_as_the_case_demands(built):
    """The real hook process ends with 0 and answers with nothing, or with one object in the sender's dialect."""
    built.pin()
    began = time.monotonic()
    status, output = built.hook()
    took = time.monotonic() - began
    built.check_reply(status, output)
    built.check_world()
    assert took < built.expect.get("seconds", 15)


def build(name, tmp_path):
    """The public case of a name, in its world and trusted."""
    case = next(case for case in PUBLIC if case.name == f"public/{name}")
    case.build(tmp_path)
    case.pin()
    return case


def together(case, number):
    """The answers of `number` hook processes started at once, each for a call of its own."""
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(lambda each: case.hook(f"toolu_{each:024d}"), range(1, number + 1)))


def test_twenty_hooks_at_once_answer_alike(tmp_path):
    """Parallel hook processes do not disturb each other: twenty calls that kept their contract, no word."""
    case = build("097-parallel-hooks-corrupt-state", tmp_path)
    before = sorted(path for path in case.state.rglob("*"))
    assert together(case, 20) == [(0, b"")] * 20
    made = [path for path in case.state.rglob("*") if "sessions" not in path.parts]
    assert sorted(path for path in made if not path.name.startswith("ledger.db")) == before
    assert len(list((case.state / "sessions").iterdir())) == 1


def test_of_hooks_at_once_one_tells_the_person(tmp_path):
    """A contract that changed since it was trusted is told of once in a session, however many calls run."""
    case = build("097-parallel-hooks-corrupt-state", tmp_path)
    case.contract.write_text("version: 1\nuse: [files]\ncontracts: []\n")
    answers = together(case, 8)
    assert [status for status, _ in answers] == [0] * 8
    told = [json.loads(output) for _, output in answers if output]
    assert len(told) == 1 and set(told[0]) == {"systemMessage"}
    assert "changed" in told[0]["systemMessage"]


def test_a_deleted_working_folder_is_survived(tmp_path):
    """A hook that starts in a folder which is no longer there still judges what stands at absolute paths."""
    case = build("099-deleted-cwd", tmp_path)
    assert case.hook(cwd="gone") == (0, b"")


def test_a_deleted_working_folder_is_no_way_around(tmp_path):
    """The same, and the file is missing: the lie is told."""
    case = build("099-deleted-cwd", tmp_path)
    (case.world / "out.txt").unlink()
    status, output = case.hook(cwd="gone")
    assert status == 0 and json.loads(output)["decision"] == "block"


def test_verify_can_demand_that_a_contract_applies(tmp_path):
    """A contract whose tool name never matches is silent in the hook; `verify --require-match` ends with 3."""
    case = build("105-matcher-plugin-mcp-name", tmp_path)
    payload = tmp_path / "payload.json"
    payload.write_bytes(case.payload())
    argv = [sys.executable, "-m", "truecall_py", "verify", "--contracts", str(case.contract), str(payload)]
    root = ROOT
    env = {**case.environment({}), "PYTHONPATH": root}
    assert subprocess.run(argv, cwd=root, env=env, capture_output=True, timeout=60).returncode == 0
    demanded = subprocess.run([*argv, "--require-match"], cwd=root, env=env, capture_output=True, timeout=60)
    assert demanded.returncode == 3


@pytest.mark.parametrize("check", checks.NAMES)
def test_each_check_has_cases_of_every_verdict(check):
    """A check without a verified, a refuted and an unverified case is not tested."""
    cases = [case for case in CASES if case.name.startswith(f"{check}/")]
    counted = {
        state: sum(1 for case in cases if case.expect.get("verdict") == state)
        for state in ("verified", "refuted", "unverified")
    }
    assert all(number >= 3 for number in counted.values()), counted


def test_each_case_says_why():
    """A case without a reason cannot be judged by who reads it later."""
    assert [case.name for case in CASES if not str(case.plain.get("why", "")).strip()] == []


def test_names_of_cases_are_their_own():
    """No two cases have one name, so that a failure can be found."""
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)) and isinstance(CASES[0], Case)


def test_public_cases_are_expressed_or_excused():
    """Every public report is a case here, or NOT_YET.md says which step brings what it needs."""
    numbers = {int(case.name.split("/")[1][:3]) for case in PUBLIC}
    excused = {
        int(line.split("`")[1][:3])
        for line in (HERE / "NOT_YET.md").read_text().splitlines()
        if line.startswith("- `")
    }
    assert set(range(1, 124, 2)) <= numbers | excused
