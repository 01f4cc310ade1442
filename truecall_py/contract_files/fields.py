"""The fields of a contract file and of a contract: the declaration behind the loader, lint, the JSON Schema and the
docs. Contains nothing else."""

from __future__ import annotations

from truecall_py.contracts.field import field
from truecall_py.policy.retry_budgets import CLASSES

CALL_KINDS = ("write", "edit", "delete", "read", "shell", "mcp", "fetch", "agent", "other")

FILE_FIELDS = (
    field("version", "choice", "The version of the contract format.", required=True, choices=("1",)),
    field("use", "use", "Starter packs to add."),
    field("mode", "choice", "enforce; or observe: you see the verdicts, and nothing is blocked.",
          default="enforce", choices=("enforce", "observe")),
    field("contracts", "contracts", "The contracts; optional if `use` names packs."),
    field("policy", "policy", "Retries, cooldowns, and the reaction to a used-up budget."),
)  # fmt: skip

POLICY_FIELDS = (
    field("retries", "retries", "Retries after the first attempt, by class of failure: a number, or [least, most]."),
    field("session", "count", "Refuted attempts after which the session is escalated.", default=10),
    field("quarantine", "quarantine",
          "After `after` false successes, the tool is paused for `ticks` batches of calls; 0: never."),
    field("on_exhausted", "choice", "tell: the agent stops this step and tells the user; stop: the loop ends.",
          default="tell", choices=("tell", "stop")),
)  # fmt: skip

FIELDS = (
    field("id", "name", "Unique in the file; quoted in every correction.", required=True),
    field("description", "text", "The expected effect, in words."),
    field("tool", "texts", "The client's own tool name, whole and case-sensitive; * and ? are wildcards."),
    field("kind", "choices", "A kind of call, the same in all clients, or a list of kinds.", choices=CALL_KINDS),
    field("when", "matchers", "Facts of the call; if one does not hold, the contract does not apply."),
    field("post", "checks", "The checks after the call: one or a list; all must hold."),
    field("repeat", "choice", "Whether the same call may be made again: safe, keyed (with the same key), or never.",
          choices=("safe", "keyed", "never")),
    field("remedy", "text", "What the agent should do after a failure, in your own words."),
    field("alternatives", "texts", "Tools or commands to use instead."),
    field("grants", "name", "A name for the effect; contracts with the same name are alternatives."),
    field("mode", "choice", "enforce or observe, for this contract alone.", choices=("enforce", "observe")),
    field("timeout", "duration", "The time limit of one probe (default: 2s for files, 5s for others)."),
    field("within", "duration", "Probe again until the checks hold, at most this long."),
    field("every", "duration", "The pause between two probes.", default="250ms"),
    field("stable_for", "duration", "The checks must then hold this long without a break."),
    field("agree", "count", "This many probes in a row must have the same result, else it is unverified."),
    field("vacuous", "choice", "ok: an effect that was there before the call counts, too.", choices=("ok",)),
    field("doubts", "choice", "silent: unverified results are dropped; refutations and truecall's own errors are "
          "still reported.", choices=("silent",)),
    field("examples", "examples", "Example calls with the expected verdicts; `truecall test` runs them."),
    field("interpreter", "text", "The Python for `custom` and `schema`; default: truecall's own."),
    field("event", "choice", "tool: judged after a tool call (default); stop: judged when the agent wants to stop.",
          choices=("tool", "stop")),
    field("claims", "patterns",
          "At the stop: judged only if the last message matches one of these regular expressions."),
    field("class", "choice", "The class of failure, which decides the number of retries.", choices=CLASSES),
    field("store", "choice", "none: the ledger keeps neither arguments nor findings of its calls.",
          choices=("none",)),
    field("pre", "checks", "A guard: one check or a list; if one does not hold, the call is refused."),
    field("requires", "names", "A guard: effects (`grants` of contracts) that must be verified in this session."),
    field("on_unverified", "choice", "If a guard cannot be evaluated: deny (default) refuses the call; ask leaves it "
          "to you (Claude Code; deny in Codex).", choices=("deny", "ask")),
    field("receipt", "receipt", "The operation that the call makes, and the source that proves it."),
    field("key", "text", "The idempotency key of the arguments: a retry with the same key is no duplicate.",
          templated=True),
    field("steps", "texts", "The contracts of an operation in several steps; needs event: stop."),
    field("by", "text", "The value that distinguishes two instances of such an operation; default: tenant and "
          "resource of the steps' receipts.", templated=True),
)  # fmt: skip

RECEIPT_FIELDS = (
    field("from", "source", "The lookup: http_status, command, sqlite or custom, with the fields of that check.",
          required=True),
    field("items", "text", "The path of the list of receipts in the evidence (a.b); default: all of it."),
    field("match", "wanted", "Paths in the receipt and their required values; types count.", required=True,
          templated=True),
    field("state", "text", "The path of the state in the receipt.", required=True),
    field("states", "states", "The meaning of each state: verified, pending or refuted; any other is unverified.",
          required=True),
    field("id", "text", "The path of the name of one effect; two completed effects are a duplicate."),
    field("as_of", "text", "The path of a growing number, or of a time with its zone (ISO 8601)."),
    field("duplicates", "choice", "refuse: a second call of a finished operation is refused; report: it is reported.",
          default="refuse", choices=("refuse", "report")),
    field("review", "period", "After this time an unresolved operation is overdue."),
    field("owner", "text", "Who is responsible for an overdue operation."),
)  # fmt: skip


def parse_duration(text: str) -> float:
    """Return a duration of the format, such as 250ms or 2h, in seconds."""
    for unit, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)):
        if text.endswith(unit):
            return round(float(text[: -len(unit)]) * factor, 6)
    raise ValueError(text)
