"""What the hook imports: an allow-list, since one careless import can cost more than all the rest."""

from __future__ import annotations

import pytest
from support.client_payloads import FIVE, ran
from support.imports import NEVER, loaded
from support.project import NOTE

STDLIB = {
    "os", "os.path", "posixpath", "genericpath", "stat", "_stat", "abc", "_abc", "_collections_abc",  # os and its own
    "__future__", "time", "select", "_json", "_signal",
}  # fmt: skip
ALWAYS = {
    "truecall_py", "truecall_py.hook.main", "truecall_py.hook.stdin", "truecall_py.hook.deadline", "truecall_py.core.errors", "truecall_py.core.types", "truecall_py.core.record",
    "truecall_py.core.fast_json", "truecall_py.world.world", "truecall_py.clients", "truecall_py.clients.claude_code.hook",
    "truecall_py.clients.payload", "truecall_py.core.paths", "truecall_py.trust.store", "truecall_py.contracts.model",
    "truecall_py.contracts.field", "truecall_py.core.glob", "truecall_py.hook.pause", "truecall_py.core.version",
}  # fmt: skip
# Where something is enforced, the ledger is asked and told: SQLite's own module, and what that itself imports.
LEDGER = {
    "_sqlite3", "_functools", "_operator", "_collections", "collections", "functools", "itertools", "keyword",
    "operator", "reprlib", "types", "_sha256", "_sha2", "_blake2",
    "truecall_py.ledger.store", "truecall_py.ledger.events", "truecall_py.ledger.session_history", "truecall_py.judging.recorder", "truecall_py.policy.retry_budgets",
    "truecall_py.ledger.notices_shown", "truecall_py.core.hashing", "truecall_py.core.redaction", "truecall_py.core.secret_patterns",
    "truecall_py.ledger.session_marks", "truecall_py.ledger.sqlite_driver",
}  # fmt: skip
CODEX = {"truecall_py.clients.codex.hook", "truecall_py.clients.apply_patch"}
# What the adapters of the other clients share, beside their own module.
SHARED = {
    "gemini-cli": {"truecall_py.clients.llm_parts"}, "qwen-code": {"truecall_py.clients.llm_parts"},
    "copilot-cli": {"truecall_py.clients.apply_patch"}, "opencode": {"truecall_py.clients.apply_patch"},
    "cline": {"truecall_py.clients.apply_patch"},
}  # fmt: skip
JUDGED = {
    "truecall_py.judging.judge", "truecall_py.judging.engine", "truecall_py.judging.polling", "truecall_py.checks",
    "truecall_py.checks.file_exists", "truecall_py.checks.support.nearest_names", "truecall_py.checks.support.outcomes",
    "truecall_py.checks.support.git_worktree", "truecall_py.contracts.facts", "truecall_py.contracts.matchers", "truecall_py.contracts.template",
    "truecall_py.core.redaction", "truecall_py.core.secret_patterns",  # the expected text is quoted in the outcome
    "truecall_py.world.snapshots", "truecall_py.core.hashing",  # was it there before the call?
}  # fmt: skip
TOLD = {"truecall_py.ledger.attempts", "truecall_py.policy.orders", "truecall_py.messages.corrections", "truecall_py.ledger.open_calls", "truecall_py.ledger.pending_calls"}


@pytest.fixture
def allowed(harness):
    return STDLIB | ALWAYS | (CODEX if harness == "codex" else set())


def test_a_call_that_no_contract_names(project, harness, allowed):
    """No contract applies: only what reads the payload and the trust store is loaded."""
    project.trust()
    modules, out = loaded(project, project.bash("ls", harness), harness)
    assert not out
    assert not modules & (NEVER - LEDGER)
    assert modules <= allowed | LEDGER, modules - allowed - LEDGER


def test_a_call_without_any_contract_file(project, harness, allowed):
    """No contract file at all: the same."""
    modules, out = loaded(project, project.bash("ls", harness), harness)
    assert not out and modules <= allowed, modules - allowed


@pytest.mark.parametrize("name", FIVE)
def test_only_the_senders_own_adapter_is_loaded(project, name):
    """The other clients pay for no adapter but their own."""
    project.trust()
    modules, out = loaded(project, ran(project, name, command="ls"), name)
    own = {f"truecall_py.clients.{name.replace('-', '_')}.hook", *SHARED[name]}
    assert not out and not modules & (NEVER - LEDGER)
    assert modules <= STDLIB | LEDGER | (ALWAYS - {"truecall_py.clients.claude_code.hook"}) | own, modules


def test_a_call_that_kept_its_contract(project, harness, allowed):
    """One file_exists that holds: engine and check on top, and nothing of the standard library."""
    project.trust()
    project.write("notes/a.md", "hello")
    modules, out = loaded(project, project.mcp(harness), harness)
    assert not out
    assert not modules & (NEVER - LEDGER)
    assert modules <= allowed | LEDGER | JUDGED, modules - allowed - LEDGER - JUDGED


def test_the_look_before_a_call(project, harness, allowed):
    """PreToolUse loads what reads the contracts, and a check only where one wants to look."""
    project.trust()
    payload = {key: value for key, value in project.mcp(harness).items() if key != "tool_response"}
    modules, out = loaded(project, {**payload, "hook_event_name": "PreToolUse"}, harness)
    assert not out and not modules & (NEVER - LEDGER)
    look = {"truecall_py.judging.snapshot_before", "truecall_py.ledger.pending_calls", "_sha256", "_sha2"}
    assert modules <= allowed | LEDGER | JUDGED | look, modules - allowed - LEDGER - JUDGED
    other = {**payload, "hook_event_name": "PreToolUse", "tool_name": "mcp__other__tool", "tool_use_id": "toolu_02"}
    modules, out = loaded(project, other, harness)
    assert not out and modules <= allowed | LEDGER, modules - allowed - LEDGER


def test_a_call_that_is_corrected(project, harness, allowed):
    """One correction: policy and wording on top."""
    project.trust()
    modules, out = loaded(project, project.mcp(harness), harness)
    assert b"NOT DONE" in out
    assert not modules & (NEVER - LEDGER)
    assert modules <= allowed | LEDGER | JUDGED | TOLD, modules - allowed - LEDGER - JUDGED - TOLD


def test_reading_and_shell_contracts_of_other_tools_cost_nothing(project):
    """Contracts with commands, patterns and HTTP are not loaded for a call that they do not name."""
    project.trust(
        "version: 1\nuse: [files, mcp, self]\ncontracts:\n  - id: x\n    tool: Other\n    post:\n"
        '      - http_status: {url: "http://localhost:1/"}\n      - command: {run: [git, status]}\n'
        "      - file_exists: {path: a, matches: x}\n"
    )
    modules, out = loaded(project, project.payload("claude-code", "Read", {"file_path": "/x"}))
    assert not out and modules <= STDLIB | ALWAYS | LEDGER, modules


def test_receipts_cost_other_calls_nothing(project):
    """Nothing about operations is loaded for a call that no contract with a receipt names."""
    receipt = (
        "  - id: charged\n    tool: mcp__pay__charge\n    receipt:\n      from: {command: {run: [look]}}\n"
        "      match: {order: 1}\n      state: state\n      states: {done: verified}\n"
    )
    project.trust(NOTE + receipt)
    project.write("notes/a.md", "hello")
    found, answer = loaded(project, project.mcp())
    assert answer == b""
    names = {"judging.receipt", "operations.view", "operations.intents", "operations.duplicate_guard", "operations.precedence", "operations.steps", "operations.reconcile", "messages.operations"}
    assert not {f"truecall_py.{name}" for name in names} & found
