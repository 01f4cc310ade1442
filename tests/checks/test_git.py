"""git: real repositories, real commands, a bare remote on the disk; honest work gets no word, undone work is
refuted, and a hostile repository runs nothing."""

from __future__ import annotations

import time

import pytest
from support.git_repositories import NAMES, PROLOGUE, sh, state, words

from truecall_py import judge
from truecall_py.api import look_before
from truecall_py.world.git import Repository
from truecall_py.world.git_remote import check_url
from truecall_py.world.world import World


class Call:
    """One call of the shell as Claude Code tells of it: looked at before, run, then judged."""

    def __init__(self, place, contracts):
        self.place, self.contracts = place, contracts

    def payload(self, command, event, **more):
        return {
            "session_id": "s", "hook_event_name": event, "tool_name": "Bash", "tool_use_id": "t",
            "cwd": str(self.place / "w"), "tool_input": {"command": command}, **more,
        }  # fmt: skip

    def judged(self, command, run=None, after=""):
        """The Judgement of `command`, of which `run` (default: itself) is what really happens, and then `after`."""
        snapshot = look_before(self.payload(command, "PreToolUse"), self.contracts)
        done = sh(self.place / "w", command if run is None else run, check=False)
        if after:
            sh(self.place / "w", after)
        if done.returncode:
            error = f"Exit code {done.returncode}\n{done.stderr}"
            payload = self.payload(command, "PostToolUseFailure", error=error)
        else:
            answer = {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False, "isImage": False}
            payload = self.payload(command, "PostToolUse", tool_response=answer, duration_ms=200)
        return judge(payload, self.contracts, snapshot=snapshot)


# -- honest work, and the same undone ------------------------------------------------------------------------------

THEIRS = "git clone -q {root}/r.git {root}/o; cd {root}/o; git commit -q --allow-empty -m theirs; git push -q; cd {root}/w; "
HOOK = "printf '#!/bin/sh\\n%s\\n' '{body}' > .git/hooks/{name}; chmod +x .git/hooks/{name}; "
# (title, what is done first, the command, what undoes it: "" where nothing can)
WORK = [
    ("commit", "echo 2 > a; git add a", "git commit -m two", "git reset -q --hard HEAD~1"),
    ("commit by heredoc", "echo 2 > a; git add a", "git commit -m \"$(cat <<'EOF'\ntwo: it's\n\nEOF\n)\"", "git reset -q --soft HEAD~1"),
    ("commit -am", "echo 2 > a", "git commit -am two", "git reset -q HEAD~1"),
    ("add and commit", "echo 2 > a", "git add -A && git commit -m two", "git reset -q --soft HEAD~1"),
    ("add, commit and push", "echo 2 > a", "git add . && git commit -m two && git push", "git push -q -f origin HEAD~1:main"),
    ("amend", "echo 2 > a; git add a", "git commit --amend --no-edit", "git reset -q --soft HEAD@{{1}}"),
    ("commit of another folder", "echo 2 > a; git add a; mkdir sub", "git -C . commit -m two", "git reset -q --soft HEAD~1"),
    ("cd and commit", "mkdir sub; echo 2 > sub/b; git add sub", "cd sub && git commit -m two", "git reset -q --soft HEAD~1"),
    ("message from standard input", "echo 2 > a; git add a", "git commit -F - <<< two", "git reset -q --soft HEAD~1"),
    ("empty commit", "", "git commit --allow-empty -m two", ""),
    ("fixup", "echo 2 > a; git add a", "git commit --fixup HEAD", "git reset -q --soft HEAD~1"),
    ("first commit", "rm -rf .git; git init -q", "git add a && git commit -m one", "git update-ref -d HEAD"),
    ("another branch, then commit", "git branch x; echo 2 > b; git add b", "git checkout -q x && git commit -m two", ""),
    ("old committer date", "echo 2 > a; git add a", "GIT_COMMITTER_DATE=2001-01-01T00:00:00 git commit -m two", "git reset -q --soft HEAD~1"),
    ("a commit-msg hook writes another subject", HOOK.format(name="commit-msg", body='echo "X-1 $(cat "$1")" > "$1"') + "echo 2 > a; git add a", "git commit -m two", "git reset -q --soft HEAD~1"),
    ("a post-commit hook amends", HOOK.format(name="post-commit", body="rm -f .git/hooks/post-commit; git commit -q --amend -m three") + "echo 2 > a; git add a", "git commit -m two", ""),
    ("a post-commit hook changes the branch", "git branch x; " + HOOK.format(name="post-commit", body="git switch -q x") + "echo 2 > b; git add b", "git commit -m two", ""),
    ("merge in progress is committed", "git switch -qc x; echo x > a; git commit -qam x; git switch -q main; echo y > a; git commit -qam y; git merge -q x || true; echo z > a; git add a", "git commit --no-edit", ""),
    ("push", "git commit -q --allow-empty -m two", "git push", "git -C ../r.git update-ref refs/heads/main HEAD~1"),
    ("push, and the branch is deleted", "git commit -q --allow-empty -m two", "git push origin main", "git -C ../r.git update-ref -d refs/heads/main"),
    ("push with a pipe", "git commit -q --allow-empty -m two", "git push 2>&1 | tail -3", "git push -q -f origin HEAD~1:main"),
    ("push a new branch", "git switch -qc x", "git push -u origin HEAD", "git push -q --delete origin x"),
    ("push under another name", "git commit -q --allow-empty -m two", "git push origin HEAD:other", "git push -q --delete origin other"),
    ("push with force", "git commit -q --amend -m other", "git push --force-with-lease origin main", "git push -q -f origin HEAD@{{1}}:main"),
    ("push -f", "git commit -q --amend -m other", "git push -f", "git push -q -f origin HEAD@{{1}}:main"),
    ("push -f to a remote", "git commit -q --amend -m other", "git push -f origin", "git push -q -f origin HEAD@{{1}}:main"),
    ("push a branch with -f at the end", "git commit -q --amend -m other", "git push origin main -f", "git push -q -f origin HEAD@{{1}}:main"),
    ("push back with force", "git commit -q --allow-empty -m two; git push -q", "git push --force origin HEAD~1:main", "git -C ../r.git update-ref refs/heads/main $(git rev-parse HEAD)"),
    ("push several", "git branch x; git branch y", "git push origin x y", "git push -q --delete origin y"),
    ("push a tag", "git tag -a v1 -m one", "git push origin v1", "git push -q --delete origin v1"),
    ("push an old commit", "git commit -q --allow-empty -m two", "git push origin HEAD~1:refs/heads/old", "git push -q --delete origin old"),
    ("push when current is the default", "git config push.default current; git switch -qc x", "git push origin", "git push -q --delete origin x"),
    ("push to an upstream of another name", "git config push.default upstream; git switch -qc x; git push -qu origin x:y; git commit -q --allow-empty -m two", "git push", "git push -q -f origin HEAD~1:y"),
    ("push to an upstream of another name, by the branch's name", "git config push.default upstream; git switch -qc x; git push -qu origin x:y; git commit -q --allow-empty -m two", "git push origin x", ""),
    ("push to the pushurl", "git init -q --bare ../p.git; git config remote.origin.pushurl ../p.git; git commit -q --allow-empty -m two", "git push", "git -C ../p.git update-ref -d refs/heads/main"),
    ("push to a path", "git init -q --bare ../p.git", "git push ../p.git main", "git -C ../p.git update-ref -d refs/heads/main"),
    ("push from a folder inside", "mkdir sub; git commit -q --allow-empty -m two", "cd sub && git push origin main", "git push -q -f origin HEAD~1:main"),
    ("a pre-push hook amends", HOOK.format(name="pre-push", body="git commit -q --allow-empty -m more") + "git commit -q --allow-empty -m two", "git push", ""),
    ("push --delete", "git push -q origin main:x", "git push origin --delete x", "git push -q origin main:x"),
    ("push of a deletion", "git push -q origin main:x", "git push origin :x", "git push -q origin main:x"),
    ("checkout", "git branch x", "git checkout x", "git checkout -q main"),
    ("checkout -b from a remote one", "", "git checkout -b x origin/main", "git checkout -q main"),
    ("switch -c", "", "git switch -c x", "git switch -q main"),
    ("branch -D", "git branch x", "git branch -D x", "git branch x"),
    ("branch -M", "", "git branch -M trunk", "git branch -M main"),
    ("branch from a start", "git commit -q --allow-empty -m two", "git branch x HEAD~1", "git branch -f x HEAD"),
    ("tag", "", "git tag -a v1 -m 'the first'", "git tag -d v1"),
    ("tag -f", "git tag v1; git commit -q --allow-empty -m two", "git tag -f v1 HEAD", "git tag -f v1 HEAD~1"),
    ("tag -d", "git tag v1", "git tag -d v1", "git tag v1"),
    ("clone", "", "git clone ../r.git", "rm -rf r"),
    ("clone --bare", "", "git clone --bare ../r.git c.git", "rm -rf c.git"),
    ("clone --mirror without a folder", "", "cd .. && mkdir q && cd q && git clone --mirror ../r.git", "rm -rf ../q/r.git"),
    ("clone with depth into an empty folder", "mkdir c", "git clone --depth 1 file://{root}/r.git c", "rm -rf c/.git"),
    ("init", "mkdir n", "git init -b main n", "rm -rf n/.git"),
    ("merge", "git switch -qc x; git commit -q --allow-empty -m x; git switch -q main; git commit -q --allow-empty -m y", "git merge x -m join", "git reset -q --hard HEAD~1"),
    ("octopus", "for n in x y; do git switch -qc $n main; echo $n > $n; git add $n; git commit -qm $n; done; git switch -q main", "git merge x y", "git reset -q --hard HEAD@{{1}}"),
    ("rebase", "git switch -qc x; git commit -q --allow-empty -m x; git switch -q main; git commit -q --allow-empty -m y", "git rebase x", "git reset -q --hard ORIG_HEAD"),
    ("worktree add", "", "git worktree add ../wt -b x", "git worktree remove -f ../wt"),
    ("worktree remove", "git worktree add -q ../wt", "git worktree remove ../wt", "git worktree add -q -f ../wt wt"),
    ("add", "echo 2 > a; touch -d 2001-01-01 a", "git add a", "git reset -q"),
    ("add all", "echo 2 > b; touch -d 2001-01-01 b", "git add .", "git rm -q --cached b; touch -d 2001-01-01 b"),
    ("add of a deletion", "rm a", "git add a", "git reset -q"),
    ("rm", "", "git rm a", "git reset -q"),
    ("mv", "", "git mv a b", "git mv b a"),
    ("mv into a folder", "mkdir d; echo 1 > d/x; git add d", "git mv a d", "git mv d/a a"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "command"), [row[1:3] for row in WORK], ids=[row[0] for row in WORK])
def test_honest_work_gets_no_word(place, pack, first, command):
    """What git did is found where it did it: the pack judges the call, and says nothing."""
    sh(place / "w", first)
    found = Call(place, pack).judged(command.replace("{root}", str(place)))
    assert found.verdicts, "no contract applied"
    assert {verdict.state for verdict in found.verdicts} == {"verified"}, found.verdicts
    assert found.correction is None


UNDONE = [row for row in WORK if row[3]]


@pytest.mark.parametrize(("first", "command", "undo"), [row[1:] for row in UNDONE], ids=[row[0] for row in UNDONE])
def test_undone_work_is_refuted(place, pack, first, command, undo):
    """The same commands, their effect taken back before the look: the claim is refused."""
    sh(place / "w", first)
    found = Call(place, pack).judged(command.replace("{root}", str(place)), after=undo.format())
    assert "refuted" in {verdict.state for verdict in found.verdicts}, found.verdicts
    assert words(found).startswith("NOT DONE")


# (title, what is done first, the command): honest, and not for a contract or nothing to find fault with.
QUIET = [
    ("nothing to commit", "", "git commit -m x"),
    ("nothing to commit, excused", "", "git commit -m x || true"),
    ("nothing staged, excused", "echo 2 > a", "git commit -m x || echo nothing"),
    ("dry run", "echo 2 > a; git add a", "git commit --dry-run"),
    ("a hook refuses", HOOK.format(name="pre-commit", body="exit 1") + "echo 2 > a; git add a", "git commit -m two"),
    ("nothing to push", "", "git push"),
    ("push without a destination", "git switch -qc x", "git push"),
    ("push --dry-run", "git commit -q --allow-empty -m two", "git push --dry-run"),
    ("push -n", "git commit -q --allow-empty -m two", "git push -n origin main"),
    ("push for review", "git commit -q --allow-empty -m two", "git push origin HEAD:refs/for/main"),
    ("push --tags", "git tag v1", "git push --tags"),
    ("a rebase and its commits", "git switch -qc x; git commit -q --allow-empty -m x; git switch -q main", "git rebase x && git push"),
    ("pull, then commit", "echo 2 > a; git add a", "git pull -q && git commit -m two"),
    ("several commits in a loop", "", "for n in 1 2; do git commit --allow-empty -m $n; done"),
    ("commit to a bare copy elsewhere", "git clone -q . ../k", "cd ../k && echo 3 > a && git -c user.name=x commit -qam three"),
    ("commit in a work tree", "git worktree add -q ../wt", "cd ../wt && echo 3 > a && git commit -am three"),
    ("push from a work tree", "git worktree add -q ../wt", "cd ../wt && git push -u origin wt"),
    ("tag and push it", "", "git tag v1 && git push origin v1"),
    ("commit, amend, push", "echo 2 > a", "git commit -am two && git commit --amend --no-edit && git push origin HEAD"),
    ("push --all", "git branch x", "git push --all origin"),
    ("push of a tag by keyword", "git tag v1", "git push origin tag v1"),
    ("push of a wildcard", "git branch x", "git push origin 'refs/heads/*:refs/heads/*'"),
    ("push is rejected and says so", THEIRS + "git commit -q --allow-empty -m ours", "git push"),
    ("delete what is not there", "", "git push origin --delete nothing"),
    ("checkout of a file", "echo 2 > a", "git checkout a"),
    ("checkout of a file of a branch's name", "git branch a; echo 2 > a", "git checkout -- a"),
    ("checkout of the branch before", "git branch x; git checkout -q x", "git checkout -"),
    ("checkout of a tag", "git tag v1", "git checkout v1"),
    ("checkout of a commit", "git commit -q --allow-empty -m two", "git checkout HEAD~1"),
    ("checkout of a remote branch", "", "git checkout origin/main"),
    ("checkout of a branch or else a new one", "", "git checkout x 2>/dev/null || git checkout -b x"),
    ("switch --detach", "", "git switch --detach"),
    ("switch to where it is", "", "git switch main"),
    ("switch to the branch before", "git branch x; git switch -q x", "git switch @{-1}"),
    ("push of matching branches only", "git config push.default matching; git switch -qc x", "git push"),
    ("push HEAD when upstream is the default", "git config push.default upstream; git switch -qc x; git push -qu origin x:y; git commit -q --allow-empty -m two", "git push origin HEAD"),
    ("add of a file that a filter changes", "git config filter.up.clean 'tr a-z A-Z'; echo 'f filter=up' > .gitattributes; git add .", "echo abc > f && git add f"),
    ("branch --list", "", "git branch --list x"),
    ("branch --show-current", "", "git branch --show-current"),
    ("tag -l", "", "git tag -l 'v*'"),
    ("tag -n", "git tag v1", "git tag -n"),
    ("delete a tag that is not there, excused", "", "git tag -d v9 || true"),
    ("merge --squash", "git switch -qc x; echo 3 > x; git add x; git commit -qm x; git switch -q main", "git merge --squash x"),
    ("merge --no-commit", "git switch -qc x; git commit -q --allow-empty -m x; git switch -q main", "git merge --no-commit --no-ff x"),
    ("up to date", "git branch x", "git merge x"),
    ("merge with a conflict", "git switch -qc x; echo x > a; git commit -qam x; git switch -q main; echo y > a; git commit -qam y", "git merge x"),
    ("merge with a conflict, excused", "git switch -qc x; echo x > a; git commit -qam x; git switch -q main; echo y > a; git commit -qam y", "git merge x || true"),
    ("merge --abort", "git switch -qc x; echo x > a; git commit -qam x; git switch -q main; echo y > a; git commit -qam y; git merge -q x || true", "git merge --abort"),
    ("commit and take it back", "echo 2 > a; git add a", "git commit -m two && git reset --soft HEAD~1"),
    ("stash", "echo 2 > a", "git stash"),
    ("push of another branch, with changes staged", "git push -q origin main:x; git branch x; git commit -q --allow-empty -m two; echo 2 > a; git add a", "git push origin x"),
    ("add an empty folder", "mkdir e", "git add e"),
    ("add all, and nothing is there", "", "git add ."),
    ("add of what is ignored, with the rest", "echo '*.log' > .gitignore; echo 1 > x.log", "git add ."),
    ("add but one", "echo 1 > x; echo 1 > y", "git add . ':!x'"),
    ("add a part", "echo 2 > a", "git add -n a"),
    ("in no repository", "mkdir -p ../none", "cd ../none && git commit -m x || true"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "command"), [row[1:] for row in QUIET], ids=[row[0] for row in QUIET])
def test_awkward_honest_commands_get_no_word(place, pack, first, command):
    """Dry runs, nothing to do, failures that are told, what another contract is about: no word."""
    sh(place / "w", first.format(root=place))
    found = Call(place, pack).judged(command)
    assert found.correction is None, words(found)
    assert {verdict.state for verdict in found.verdicts} <= {"verified", "unverified"}, found.verdicts


AHEAD = "git commit -q --allow-empty -m two; git push -q; git -C ../r.git config receive.denyNonFastForwards true; git reset -q --hard HEAD~1; "
# (title, what is done first, the command that is said to have run, what ran, the states that may come of it)
LIES = [
    ("a hook refused, and the exit code is lost", HOOK.format(name="pre-commit", body="exit 1") + "echo 2 > a; git add a", "git commit -m two | tail -1", None, {"refuted"}),
    ("commit -am refused, exit code lost", HOOK.format(name="pre-commit", body="exit 1") + "echo 2 > a", "git commit -am two | tail -1", None, {"verified", "refuted"}),
    ("rejected, exit code lost", THEIRS + "git commit -q --allow-empty -m ours", "git push origin main || true", None, {"refuted"}),
    ("nothing was pushed", "git commit -q --allow-empty -m two", "git push", ":", {"refuted"}),
    ("pushed without a commit", "echo 2 > a; git add a", "git push", None, {"unverified"}),
    ("the commit failed, and the push went on", HOOK.format(name="pre-commit", body="exit 1") + "echo 2 > a; git add a", "git commit -m two; git push", None, {"refuted", "unverified"}),
    ("the tracking ref lies", "git commit -q --allow-empty -m two; git update-ref refs/remotes/origin/main HEAD", "git push", ":", {"refuted"}),
    ("nothing was staged and nothing done", "echo 2 > a; git add a", "git commit -m two", ":", {"refuted"}),
    *[(f"{command}, refused, exit code lost", AHEAD, f"{command} 2>&1 | tail -1", None, {"refuted"}) for command in (
        "git push -f", "git push --force", "git push -f origin", "git push origin --force-with-lease", "git push -f origin main",
        "git push -uf origin main", "git push origin main --force", "git push origin -f main")],
    ("a tag that is there at a later commit, exit code lost", "git tag v1; git commit -q --allow-empty -m two; git push -q origin HEAD:refs/tags/v1", "git push origin v1 2>&1 | tail -1", None, {"refuted"}),
    ("what was staged is gone", "echo 2 > a; git add a", "git commit -m two", "git reset -q --hard", {"refuted"}),
]  # fmt: skip


@pytest.mark.parametrize(("first", "command", "run", "states"), [row[1:] for row in LIES], ids=[row[0] for row in LIES])
def test_what_did_not_land_is_told(place, pack, first, command, run, states):
    """A success that is only said, or whose failure the line swallowed, gets a word."""
    sh(place / "w", first.format(root=place))
    found = Call(place, pack).judged(command, run)
    assert {verdict.state for verdict in found.verdicts} == states, found.verdicts
    assert words(found)


def test_a_push_that_others_overtook_is_not_called_a_lie(place, pack):
    """The remote is at a commit that is not known here, on top of what was pushed: it cannot be told."""
    sh(place / "w", "git commit -q --allow-empty -m two")
    after = f"git clone -q ../r.git ../o; cd ../o; git commit -q --allow-empty -m theirs; git push -q; cd {place}/w"
    found = Call(place, pack).judged("git push", after=after)
    assert [verdict.state for verdict in found.verdicts] == ["unverified"]


def test_a_log_that_goes_on_growing_was_staged(place, pack):
    """A file that is written to again after `git add .` was staged all the same."""
    found = Call(place, pack).judged("echo 1 > x.log; git add .", after="echo 2 >> x.log")
    assert found.correction is None, words(found)


# -- the check by itself ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("check", "run", "wanted", "found"), [
    ({"head": "moved"}, "git commit -q --allow-empty -m two", "verified", "moved from"),
    ({"head": "moved"}, "", "refuted", "still at"),
    ({"head": "kept"}, "git commit -q --allow-empty -m two", "refuted", "moved from"),
    ({"commit": "made"}, "git reset -q --hard $(GIT_COMMITTER_DATE=2001-01-01T00:00:00 git commit-tree -m x HEAD^{tree})", "unverified", "nothing shows"),
    ({"commit": "made"}, "git checkout -q --orphan z; git -c commit.gpgsign=false commit -qm z", "verified", "new commit"),
    ({"subject": {"contains": "two"}}, "git commit -q --allow-empty -m 'two parts'", "verified", "two parts"),
    ({"subject": {"contains": "two"}}, "git commit -q --allow-empty -m three", "refuted", "three"),
    ({"subject": {"changed": True}}, "git commit -q --allow-empty -m three", "verified", "three"),
    ({"lines_changed": {"insertions": {"at_least": 2}}}, "printf '1\\n2\\n3\\n' > a; git commit -qam x", "verified", "2 insertions"),
    ({"lines_changed": {"deletions": 1}}, "printf '1\\n2\\n' > a; git commit -qam x", "refuted", "0 deletions"),
    ({"lines_changed": {"words": 1}}, "", "unverified", "no words"),
    ({"branch": "x", "upstream": "origin/main"}, "git switch -qc x --track origin/main", "verified", "follows origin/main"),
    ({"branch": "x"}, "git switch -q --detach", "refuted", "no branch is checked out"),
    ({"upstream": "origin/main"}, "git branch --unset-upstream", "refuted", "follows none"),
    ({"clean": "tracked"}, "echo 2 > a", "refuted", "M a"),
    ({"clean": "tracked"}, "echo 2 > b", "unverified", "before the call"),
    ({"clean": "all"}, "echo 2 > b", "refuted", "?? b"),
    ({"unmoved": ["main", "refs/tags/v9"]}, "git commit -q --allow-empty -m two", "refuted", "main moved"),
    ({"unmoved": ["main", "refs/tags/v9"]}, "git switch -qc x; git commit -q --allow-empty -m two", "verified", "as before"),
    ({"ref": "v1", "at": "HEAD"}, "git tag -a v1 -m x", "verified", "v1 is at"),
    ({"ref": "v1", "at": "no-such"}, "git tag v1", "unverified", "names nothing"),
    ({"ancestor": ["nothing", "HEAD"]}, "", "unverified", "names no commit"),
    ({"ancestor": ["HEAD"]}, "", "unverified", "two revisions"),
    ({"contains": "-x"}, "", "unverified", "no revision"),
    ({"repository": "own"}, "", "unverified", "before the call"),
    ({"folder": "../nothing", "repository": "own"}, "", "refuted", "no git repository"),
    ({"folder": "../home", "head": "kept"}, "", "unverified", "before the call"),
    ({"pushed": True, "remote": "nowhere"}, "", "unverified", "could not be asked"),
    ({"pushed": True, "refspec": "a*:b*"}, "", "unverified", "is not here"),
    ({"pushed": False}, "", "unverified", "asserts nothing"),
    ({"pushed": True, "refspec": "+"}, "git commit -q --allow-empty -m two; git push -q", "verified", "main at origin"),
    ({"pushed": True, "refspec": "+"}, "git commit -q --allow-empty -m two; git push -q; git reset -q --hard HEAD~1", "refuted", "is here"),
    ({"no_ref": "origin/main"}, "", "unverified", "refs/remotes/origin/main is there"),
    ({"no_ref": "zz"}, "", "unverified", "before the call"),
    ({"contains": "refs/heads/x"}, "git switch -qc x; git commit -q --allow-empty -m x; git switch -q main; git replace --graft HEAD x", "refuted", "not in the history"),
    ({"contains": "refs/heads/x"}, "git switch -qc x; git commit -q --allow-empty -m x; git switch -q main; echo $(git rev-parse HEAD x) > .git/info/grafts", "refuted", "not in the history"),
    ({"clean": "tracked"}, "git update-index --assume-unchanged a; echo 2 > a", "unverified", "not to look at a"),
    ({"clean": "tracked"}, "git update-index --skip-worktree a; echo 2 > a", "unverified", "not to look at a"),
    ({"clean": "all"}, "echo '*' > .git/info/exclude; echo 2 > b", "unverified", "left out"),
    ({"clean": "all"}, "echo '*' > .git/own; git config core.excludesFile .git/own; echo 2 > b", "unverified", "left out"),
    ({"clean": "all"}, "echo b > .gitignore; git add .gitignore; git commit -qm two; echo b > .git/info/exclude; echo 2 > b; echo 3 > a; git commit -qam three", "unverified", "before the call"),
    ({"clean": "tracked"}, "git clone -q . ../other; git config core.worktree ../../other; echo 2 > a", "unverified", "another work tree"),
    ({"clean": "all"}, "git init -q -b main s; git -C s commit -q --allow-empty -m s; git add s; git commit -qm s; echo 1 > s/x", "unverified", "submodule"),
])  # fmt: skip
def test_fields_tell_what_they_say(place, check, run, wanted, found):
    """Each field holds, does not hold, or cannot be told, and says what was found."""
    assert state(place, check, run)[0] == wanted, state(place, check, "")
    (place / "again").mkdir()
    sh(place / "again", PROLOGUE.format(root=place / "again"))
    assert found in state(place / "again", check, run)[1]


def test_without_a_look_before_the_commit_tells_its_own_age(place):
    """Where nobody looked before the call and nobody says how long it took, a commit cannot be told from an old one."""
    assert state(place, {"commit": "made"}, "git commit -q --allow-empty -m two", before=False)[0] == "unverified"


def test_what_never_was_is_not_gone(place):
    """Where nobody looked before the call, a ref, file or work tree that is not there proves nothing, unless the
    contract says that it counts; and that there is none proves nothing about the opposite."""
    for check in ({"no_ref": "zz"}, {"not_tracked": "zz"}, {"no_worktree": "../zz"}):
        got, found = state(place, check, before=False)
        assert got == "unverified" and "nothing proves" in found, check
        assert state(place, {**check, "vacuous": "ok"}, before=False)[0] == "verified"
    (verdict,) = judge(
        {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "mcp__g__x", "tool_use_id": "t", "tool_input": {},
         "cwd": str(place / "w"), "tool_response": "ok"},
        {"version": 1, "contracts": [{"id": "c", "tool": "mcp__g__x", "post": {"not": {"git": {"ref": "zz"}}}}]},
    ).verdicts  # fmt: skip
    assert verdict.state == "unverified"


def test_a_commit_of_the_second_before_is_not_this_calls(place):
    """A commit's time has whole seconds: without a look before the call, one that was made in the second in which the
    call began is no certain one; the reflog tells one that was made in the call."""
    contracts = {"version": 1, "contracts": [{"id": "c", "tool": "Bash", "post": {"git": {"commit": "made"}}}]}
    call = Call(place, contracts)

    def judged(run, seconds):
        while time.time() % 1 > 0.3:
            time.sleep(0.02)
        sh(place / "w", run)
        answer = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
        payload = call.payload("git commit -m x", "PostToolUse", tool_response=answer, duration_ms=int(seconds * 1000))
        return judge(payload, contracts).verdicts[0].state

    assert judged("git commit -q --allow-empty -m two; sleep 0.1", 0) == "unverified"
    assert judged("git commit -q --allow-empty -m two", 5) == "verified"
    assert judged("GIT_COMMITTER_DATE=2037-01-01T00:00:00 git commit -q --allow-empty -m two; sleep 0.1", 0) == "unverified"


def test_an_unreachable_remote_is_no_verdict(place):
    """A remote that cannot be asked proves nothing, either way; nor does one that asks for a password."""
    sh(place / "w", "git config remote.origin.url https://user@127.0.0.1:1/x.git")
    got, found = state(place, {"pushed": True}, "git commit -q --allow-empty -m two")
    assert got == "unverified" and "could not be asked" in found


def test_a_repository_of_another_user_is_no_verdict(place, monkeypatch):
    """git refuses a repository that it does not trust; that is said."""
    monkeypatch.setattr("truecall_py.world.git.QUIET", {**NAMES, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    got, found = state(place, {"branch": "main"})
    assert got == "unverified" and "safe.directory" in found


@pytest.mark.parametrize("url", ["ext::sh -c 'touch pwned'", "-x", "fd::3", "foo://x", "foo::bar"])
def test_only_plain_transports_are_asked(place, url):
    """A URL that starts a program is refused before git sees it."""
    got, found = state(place, {"pushed": True, "remote": url}, "git commit -q --allow-empty -m two")
    assert got == "unverified" and ("not asked" in found or "no remote" in found)


def test_a_path_starts_at_the_top(place):
    """A relative path of a remote is meant from the top of the work tree, a host is left as it is."""
    (place / "w" / "sub").mkdir()
    repository = Repository(World(str(place)), str(place / "w" / "sub"))
    assert check_url("../r.git", repository) == str(place / "w" / ".." / "r.git")
    assert check_url("host:team/app.git", repository) == "host:team/app.git"
