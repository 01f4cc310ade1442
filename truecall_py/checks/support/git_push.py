"""The field `pushed` of `git`: asks the remote itself whether it has the commit. The tracking ref only says whether
the remote had the commit before, and whether it moved since."""

from __future__ import annotations

from truecall_py.checks.support.git_common import Finding, Look, Part, join_items, refuse_unproven, shorten
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record
from truecall_py.core.types import ABSENT, NEW, OLD
from truecall_py.world.git_remote import fetch_refs, list_push_urls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.git import Repository

BRANCH, TAG = "refs/heads/", "refs/tags/"
BEFORE = 3.0  # seconds for a remote before the call
UNSURE = "so where the push went cannot be told"


@record(frozen=True)
class Aim:
    """The aim of a push: `source` is the id to push ("": a deletion), `names` the full names it may have at the
    remote. `loose`: a missing name proves nothing. `matching`: git skips missing names. `exact`: the remote must be
    at `source` itself, because a forced push may remove commits."""

    remote: str
    source: str
    names: list[str]
    loose: bool = False
    matching: bool = False
    exact: bool = False


# -- where a push goes -----------------------------------------------------------------------------------------


def find_aim(look: Look) -> Aim:
    """Return the aim of a push, as git decides it. Raises Unverified if that is unknown."""
    repository = look.repository
    branch = repository.branch()
    remote = look.params.get("remote") or find_default_remote(repository, branch)
    given = look.params.get("refspec") or ""
    exact = given.startswith("+")
    given = given.lstrip("+")
    if ":" in given:
        source, _, target = given.partition(":")
        if not source and target:
            return Aim(remote, "", [target] if target.startswith("refs/") else [BRANCH + target, TAG + target])
        full = find_full_name(repository, source, branch)
        loose = not is_kept(target)
        return Aim(remote, resolve_id(repository, full or source), list_targets(target, full), loose, exact=exact)
    if given in ("HEAD", "@") and branch:
        return Aim(remote, resolve_id(repository, BRANCH + branch), [BRANCH + branch], exact=exact)
    if repository.setting(f"remote.{remote}.push"):
        raise Unverified(f"the configuration maps what is pushed to {remote}, {UNSURE}", "probe")
    if given:
        full = find_full_name(repository, given, branch)
        if not full:
            raise Unverified(f"{given} is no branch or tag here, {UNSURE}", "probe")
        return Aim(remote, resolve_id(repository, full), [map_name(repository, full)], exact=exact)
    if not branch:
        raise Unverified(f"no branch is checked out, {UNSURE}", "probe")
    default = repository.setting("push.default")
    if default == "nothing":
        raise Unverified(f"push.default is nothing, {UNSURE}", "probe")
    name = map_name(repository, BRANCH + branch)
    return Aim(remote, resolve_id(repository, BRANCH + branch), [name], matching=default == "matching", exact=exact)


def find_default_remote(repository: Repository, branch: str) -> str:
    """Return the remote to which git pushes a branch if the command names none."""
    for key in (f"branch.{branch}.pushRemote", "remote.pushDefault", f"branch.{branch}.remote"):
        value = repository.setting(key)
        if value:
            return value
    remotes = repository.told("remote").split()
    return remotes[0] if len(remotes) == 1 else "origin"


def find_full_name(repository: Repository, name: str, branch: str) -> str:
    """Return the full name of the local ref that a push takes, "" without one (an id, HEAD~1)."""
    if name in ("HEAD", "@"):
        return BRANCH + branch if branch else ""
    for each in (name,) if name.startswith("refs/") else (BRANCH + name, TAG + name):
        if repository.ref(each):
            return each
    return ""


def map_name(repository: Repository, full: str) -> str:
    """Return the name of a ref at the remote if the refspec gives none."""
    if full.startswith(BRANCH) and repository.setting("push.default") in ("upstream", "tracking"):
        return repository.setting(f"branch.{full.removeprefix(BRANCH)}.merge") or full
    return full


def list_targets(target: str, full: str) -> list[str]:
    """Return the full names that a target may have at the remote."""
    if target.startswith("refs/"):
        return [target]
    return [TAG + target] if full.startswith(TAG) else [BRANCH + target] if full else [BRANCH + target, TAG + target]


def is_kept(target: str) -> bool:
    """Whether a pushed name stays at the remote. A review server accepts refs/for/… but keeps no such ref."""
    return not target.startswith("refs/") or target.startswith((BRANCH, TAG))


def resolve_id(repository: Repository, name: str) -> str:
    """Return the id of a name. Raises Unverified if it does not exist."""
    found = repository.resolve(name)
    if not found:
        raise Unverified(f"{name} is not here, {UNSURE}", "probe")
    return found


# -- before ----------------------------------------------------------------------------------------------------


def read_pushed(look: Look) -> dict[str, Any]:
    """Return the tracking refs and what would be pushed now. For a branch without a tracking ref, and for a deletion
    without one, ask the remote."""
    seen: dict[str, Any] = {"tracking": look.repository.refs("refs/remotes/"), "source": "", "remote": {}}
    try:
        plan = find_aim(look)
        seen["source"] = plan.source
        follows = [find_tracking(plan, name) for name in plan.names]
        if not any(follows if plan.source else map(seen["tracking"].get, follows)):
            for url in list_push_urls(look.repository, plan.remote):
                seen["remote"][url] = fetch_refs(look.repository, url, plan.names, BEFORE)
    except Unverified:
        pass  # the call itself may create the branch or the remote
    return seen


def find_tracking(plan: Aim, name: str) -> str:
    """Return the ref that tracks a branch of a configured remote, "" without one."""
    named = not any(character in plan.remote for character in ":/\\") and plan.remote not in (".", "..")
    return f"refs/remotes/{plan.remote}/{name.removeprefix(BRANCH)}" if named and name.startswith(BRANCH) else ""


def had_commit(look: Look, plan: Aim, url: str, name: str, was: Any) -> bool | None:
    """Whether the remote had the commit before the call; None if unknown."""
    if was is ABSENT:
        return None
    follows = find_tracking(plan, name)
    if follows:
        return has_commit(look, plan, name, was["tracking"].get(follows, ""))
    there = was["remote"].get(url)
    return None if there is None else has_commit(look, plan, name, there.get(name, ""))


def has_commit(look: Look, plan: Aim, name: str, there: str) -> bool:
    """Whether a name of the remote is at the pushed commit, or has it in its history. A tag must be at it."""
    if there == plan.source:
        return True
    if plan.exact or name.startswith(TAG) or not there:
        return False
    if not look.repository.has(there) or not look.repository.has(plan.source):
        return False
    return look.repository.ancestor(plan.source, there)


# -- after -----------------------------------------------------------------------------------------------------


def describe_pushed(params: dict[str, Any]) -> str:
    """Return the expectation of `pushed` as a phrase."""
    remote, given = params.get("remote") or "the remote", params.get("refspec")
    if given and given.startswith(":"):
        return f"no {given[1:]} at {remote} itself"
    return f"{given or 'the current branch'} at {remote} itself, with the commit that is here"


def judge_pushed(look: Look, was: Any) -> Finding:
    """Judge `pushed` at every URL of the remote; a refuted one decides. Raises Unverified."""
    if look.params["pushed"] is not True:
        raise Unverified("pushed: false asserts nothing", "contract")
    plan = find_aim(look)
    findings = [judge_url(look, plan, url, was) for url in list_push_urls(look.repository, plan.remote)]
    failed = [finding for finding in findings if not finding.holds]
    chosen = (failed or findings)[0]
    if chosen.effect == OLD and plan.source and plan.source == look.repository.head():
        staged = look.repository.staged()
        if staged:
            had = f"{name_remote(plan)} had that commit before the call"
            why = f"{had}, and these changes are staged and not committed: {join_items(staged)}"
            raise Unverified(why, "vacuous")
    return chosen


def judge_url(look: Look, plan: Aim, url: str, was: Any) -> Finding:
    """Return the id of a name at one URL of the remote."""
    there = fetch_refs(look.repository, url, plan.names)
    name = next((each for each in plan.names if each in there), plan.names[0])
    now = there.get(name, "")
    where = f"{name.removeprefix(BRANCH)} at {name_remote(plan)}"
    if not plan.source:
        if now:
            return Finding(False, f"{where} is still at {shorten(now)}")
        return judge_deletion(look, plan, url, where, was)
    if now and has_commit(look, plan, name, now):
        before = had_commit(look, plan, url, name, was)
        return Finding(True, f"{where} is at {shorten(now)}", "" if before is None else OLD if before else NEW)
    if not now and plan.matching:
        return Finding(True, f"there is no {where}, and push.default=matching leaves it out", OLD)
    if not now and plan.loose:
        raise Unverified(f"there is no {where}, and it may not be kept under that name", "probe")
    follows = find_tracking(plan, name)
    followed = look.repository.ref(follows) if follows else ""
    if now and was is not ABSENT and now == was["source"] == followed != was["tracking"].get(follows, ""):
        return Finding(True, f"{where} is at {shorten(now)}, which was here when the call began", NEW)
    if now and (followed == plan.source or not follows) and not look.repository.has(now):
        why = f"{where} is at {shorten(now)}, which is not known here: it may have moved on after the push"
        raise Unverified(why, "probe")
    if not now:
        return Finding(False, f"there is no {where}")
    return Finding(False, f"{where} is at {shorten(now)}, and {shorten(plan.source)} is here")


def judge_deletion(look: Look, plan: Aim, url: str, where: str, was: Any) -> Finding:
    """Return the Finding for a deletion. Raises Unverified if it is unknown whether the name ever existed."""
    found = f"there is no {where}"
    if was is not ABSENT and any(was["tracking"].get(find_tracking(plan, name)) for name in plan.names):
        return Finding(True, found, NEW)
    there = None if was is ABSENT else was["remote"].get(url)
    if there is None:
        refuse_unproven(look, ABSENT, found)
        return Finding(True, found)
    return Finding(True, found, NEW if there else OLD)


def name_remote(plan: Aim) -> str:
    """Return the name of the remote without secrets of its URL."""
    from truecall_py.core.redaction import mask_secrets

    return mask_secrets(plan.remote.rpartition("@")[2] if "://" in plan.remote else plan.remote)


PARTS = {"pushed": Part(describe_pushed, read_pushed, judge_pushed)}
