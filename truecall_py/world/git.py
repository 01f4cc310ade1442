"""The only way git is asked. Never runs anything that the repository names: no hook, filter, driver, monitor,
helper, pager, alias or transport of its configuration, no submodule's; and never changes it.

A repository may be hostile, so each question is plumbing that reads, with the keys that name programs overridden,
the caller's GIT_ variables dropped and every transport forbidden (a partial clone would fetch what is missing).
Objects are taken as they are: replacements and grafts, by which a repository tells another history, do not count.
What stands on a remote is asked by `remotes`.
"""

from __future__ import annotations

import os

from truecall_py.core.errors import Unverified
from truecall_py.world.environment import filter_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.core.types import Finished
    from truecall_py.world.world import World

# Keys that make git start a program. The last word counts, and the command line has it.
HARMLESS = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.askPass=", "core.sshCommand=false",
    "core.gitProxy=", "core.alternateRefsCommand=false", "credential.helper=", "diff.external=", "gpg.program=false",
    "log.showSignature=false", "status.submoduleSummary=false", "submodule.recurse=false", "protocol.allow=never",
)  # fmt: skip
QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",  # of what is no file, git says nothing
    "GIT_PAGER": "cat",
}
PLAIN = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")  # a diff by git itself, of this repository
OFF = ("clean=", "smudge=", "process=", "required=false")  # what makes a filter none
DUBIOUS = "detected dubious ownership"
PATIENCE = 5.0  # seconds for one question
MANY = 2000  # paths that one look at the work tree takes in


def safe_path(folder: str, world: World) -> str:
    """PATH without what lies in the repository around `folder`, or in the contract's project: an agent may have
    planted a git or ssh there."""
    path = os.environ.get("PATH") or "/usr/local/bin:/usr/bin:/bin"
    for root in (find_top(folder), world.project):
        if root:
            path = ":".join(filter_path(path, root))
    return path


def find_top(folder: str) -> str:
    """The nearest folder, from `folder` upward, that holds a .git; else `folder` itself."""
    here = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(here, ".git")):
        if here == os.path.dirname(here):
            return folder
        here = os.path.dirname(here)
    return here


class Repository:
    """The repository in which a folder (an absolute path) lies. Every answer is one look at it is now;
    each raises Unverified where git gives none."""

    def __init__(self, world: World, folder: str) -> None:
        self.world = world
        self.folder = folder
        self.env = {**QUIET, "GIT_ALLOW_PROTOCOL": "", "PATH": safe_path(folder, world)}

    # -- asking ----------------------------------------------------------------------------------------

    def ask(self, *words: str, settings: Sequence[str] = (), stdin: bytes = b"") -> Finished:
        """How git ended. Raises Unverified where it did not, or does not trust the repository."""
        argv = ["git", "--no-pager", "--no-replace-objects"]
        for setting in (*HARMLESS, *settings):
            argv += ["-c", setting]
        finished = self.world.run([*argv, *words], self.env, self.folder, stdin, PATIENCE)
        if finished.exit_code is None:
            raise Unverified(f"git could not be asked: {finished.trouble}", "probe")
        if finished.exit_code and DUBIOUS in finished.stderr:
            why = f"git does not trust the repository in {self.folder}, which is another user's (safe.directory)"
            raise Unverified(why, "probe")
        if finished.trouble:  # the part that was dropped may be the one that decides
            raise Unverified(f"git {words[0]} said too much: {finished.trouble}", "probe")
        return finished

    def told(self, *words: str, settings: Sequence[str] = (), stdin: bytes = b"") -> str:
        """What git answered. Raises Unverified where it ended otherwise than with 0."""
        finished = self.ask(*words, settings=settings, stdin=stdin)
        if finished.exit_code:
            raise Unverified(f"git {words[0]} failed in {self.folder}: {find_reason(finished)}", "probe")
        return finished.stdout

    def own_setting(self, key: str) -> str:
        """A value that the person's or the machine's configuration gives, not the repository's; "" for none."""
        rows = self.ask("config", "--show-scope", "--get-all", key).stdout.splitlines()
        values = [row.split("\t", 1)[1] for row in rows if row.startswith(("global\t", "system\t"))]
        return values[-1] if values else ""

    def setting(self, key: str) -> str:
        """A value of the configuration, "" where there is none. A key that git does not take has none."""
        finished = self.ask("config", "--get", key)
        return finished.stdout.rstrip("\n") if finished.exit_code == 0 else ""

    # -- commits and refs ------------------------------------------------------------------------------

    def resolve(self, revision: str) -> str:
        """The id of an object that a revision names, "" where it names none."""
        check_revision(revision)
        finished = self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", revision)
        if finished.exit_code == 0:
            return finished.stdout.strip()
        if finished.exit_code != 1:
            raise Unverified(f"git cannot tell what {revision} is: {find_reason(finished)}", "probe")
        return ""

    def head(self) -> str:
        """The id of the commit at HEAD, "" where there is none yet."""
        return self.resolve("HEAD^{commit}")

    def branch(self) -> str:
        """The name of the current branch, "" where HEAD is detached."""
        finished = self.ask("symbolic-ref", "--quiet", "HEAD")
        if finished.exit_code not in (0, 1):
            raise Unverified(f"git cannot tell the branch: {find_reason(finished)}", "probe")
        return finished.stdout.strip().removeprefix("refs/heads/")

    def ancestor(self, one: str, other: str) -> bool:
        """Whether commit `one` is in the history of `other` (or is the same)."""
        finished = self.ask("merge-base", "--is-ancestor", check_revision(one), check_revision(other))
        if finished.exit_code not in (0, 1):
            raise Unverified(f"git cannot compare {one} and {other}: {find_reason(finished)}", "probe")
        return finished.exit_code == 0

    def has(self, commit: str) -> bool:
        """Whether a commit, by its id, is in this repository."""
        return self.ask("cat-file", "-e", check_revision(commit) + "^{commit}").exit_code == 0

    def ref(self, name: str) -> str:
        """The id at a ref: a full name (refs/…), or that of a branch, then of a tag. "" where there is none."""
        names = [name] if name.startswith("refs/") else [f"refs/heads/{name}", f"refs/tags/{name}"]
        for each in names:
            finished = self.ask("show-ref", "--verify", "--", each)
            if finished.exit_code == 0:
                return finished.stdout.partition(" ")[0]
            if finished.exit_code != 1 and "not a valid ref" not in finished.stderr:
                raise Unverified(f"git cannot tell where {each} is: {find_reason(finished)}", "probe")
        return ""

    def refs(self, below: str, most: int = 1000) -> dict[str, str]:
        """The refs below a prefix with their ids, at most so many."""
        text = self.told("for-each-ref", f"--count={most}", "--format=%(objectname) %(refname)", below)
        pairs = (line.split(" ", 1) for line in text.splitlines() if " " in line)
        return {name: commit for commit, name in pairs}

    def commit(self, revision: str = "HEAD") -> Commit:
        """What a commit holds. Raises Unverified where there is none."""
        return Commit(self.told("cat-file", "commit", check_revision(revision)))

    def lines(self) -> dict[str, int]:
        """Files, insertions and deletions of the last commit, against its first parent."""
        base = "HEAD^1" if self.resolve("HEAD^1") else ""
        tree = [base, "HEAD"] if base else ["--root", "HEAD"]
        options = ["--no-commit-id", "-r", "--numstat", *PLAIN, "-M"]
        split = [row.split("\t", 2) for row in self.told("diff-tree", *options, *tree).splitlines()]
        rows = [row for row in split if len(row) == 3]
        more, less = (sum(int(row[at]) for row in rows if row[at].isdigit()) for at in (0, 1))
        return {"files": len(rows), "insertions": more, "deletions": less}

    # -- index and work tree ---------------------------------------------------------------------------

    def own_top(self) -> bool:
        """Whether the folder itself is a repository: the top of a work tree, or a bare one."""
        finished = self.ask("rev-parse", "--is-bare-repository", "--show-cdup", "--absolute-git-dir")
        if finished.exit_code:
            if "not a git repository" in finished.stderr:
                return False
            raise Unverified(f"git cannot tell what {self.folder} is: {find_reason(finished)}", "probe")
        bare, *rest = finished.stdout.split("\n")
        if bare == "true":
            return os.path.realpath(rest[-2]) == os.path.realpath(self.folder)
        return rest[0] == "" and os.path.lexists(os.path.join(self.folder, ".git"))

    def root(self) -> str:
        """The top of the work tree, or the folder of a bare repository."""
        finished = self.ask("rev-parse", "--show-toplevel")
        if finished.exit_code == 0 and finished.stdout.strip():
            return finished.stdout.rstrip("\n")
        return self.told("rev-parse", "--absolute-git-dir").rstrip("\n")

    def staged(self) -> list[str]:
        """The paths whose state in the index is another than in the last commit."""
        tree = self.head() or self.told("hash-object", "-t", "tree", "--stdin").strip()
        output = self.told("diff-index", "--cached", "--name-only", "-z", *PLAIN, tree, "--")
        return [path for path in output.split("\0") if path]

    def tracked(self, path: str) -> bool:
        """Whether the index holds something at or below a path (or glob, as git takes it)."""
        return bool(self.told("ls-files", "--cached", "-z", "--", path))

    def changes(self, paths: Sequence[str] = (), untracked: bool = False) -> list[tuple[str, str]]:
        """(two letters as in `git status --short`, path from the top) of all that is not committed, under `paths`.

        The filters that the configuration names are not run. A file that only differs by what its filter would do
        cannot be told apart from a changed one: if there are only such, Unverified is raised.
        """
        names = self.ask("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")
        drivers = {name.rpartition(".")[0] for name in names.stdout.split("\0") if name}
        if any("=" in driver or "\n" in driver for driver in drivers):  # cannot be overridden on a command line
            raise Unverified("a filter of the repository has a name that cannot be switched off", "probe")
        off = [f"{driver}.{key}" for driver in sorted(drivers) for key in OFF]
        words = ["status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty"]
        words.append("--untracked-files=all" if untracked else "--untracked-files=no")
        text = self.told(*words, "--", *paths, settings=off)
        found = [(row[:2], row[3:]) for row in text.split("\0") if len(row) > 3]
        filtered = self.filtered([path for state, path in found if state[1] == "M"][:MANY]) if drivers else set()
        doubtful = {path for path in filtered if not self.as_indexed(path)}
        certain = [(state, path) for state, path in found if state[1] != "M" or path not in filtered]
        if doubtful and not certain:
            why = f"{sorted(doubtful)[0]} passes through a filter of the repository, which is not run"
            raise Unverified(f"{why}, so it cannot be told whether it changed", "probe")
        return certain

    def unwatched(self) -> tuple[list[str], list[str]]:
        """(the submodules, the files that are there and that git was told not to look at), as paths from the top."""
        above = Repository(self.world, self.root())
        modules, files = [], []
        for row in above.told("ls-files", "--stage", "-v", "-z").split("\0"):
            words, _, path = row.partition("\t")
            if words[2:8] == "160000":
                modules.append(path)
                continue
            left_out = words[:1] == "S"  # by a sparse checkout; others are assumed to be unchanged
            if words[:1].islower() or (left_out and self.world.stat(os.path.join(above.folder, path), False)):
                files.append(path)
        return modules, files

    def excluded(self) -> list[str]:
        """What is untracked and left out by the repository's info/exclude or its own core.excludesFile, and by
        nothing that others see too."""
        above = Repository(self.world, self.root())
        lists = [os.path.join(above.folder, above.told("rev-parse", "--git-path", "info/exclude").rstrip("\n"))]
        excludes = above.setting("core.excludesFile")
        if excludes and excludes != above.own_setting("core.excludesFile"):
            lists.append(self.world.resolve(excludes))
        given = [f"--exclude-from={path}" for path in lists if self.world.stat(path) is not None]
        if not given:
            return []
        words = ("ls-files", "--others", "--directory", "-z")
        left = set(above.told(*words, "--exclude-per-directory=.gitignore").split("\0"))
        hidden = above.told(*words, "--ignored", *given).split("\0")
        return sorted(path for path in hidden if path and path in left)[:MANY]

    def filtered(self, paths: list[str]) -> set[str]:
        """Those of the paths (from the top) that have a filter."""
        if not paths:
            return set()
        stdin = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        above = Repository(self.world, self.root())
        fields = above.told("check-attr", "-z", "--stdin", "filter", stdin=stdin).split("\0")
        triples = zip(fields[0::3], fields[2::3], strict=False)
        return {path for path, value in triples if value not in ("unspecified", "unset")}

    def as_indexed(self, path: str) -> bool:
        """Whether a file (from the top) has the very time and size that the index took it in with."""
        found = self.world.stat(os.path.join(self.root(), path), follow=False)
        words = self.told("ls-files", "--debug", "--", f":(top,literal){path}").replace("\t", "\n").split("\n")
        noted = dict(word.strip().split(": ", 1) for word in words if ": " in word)
        if found is None:
            return False
        when = f"{found.st_mtime_ns // 10**9}:{found.st_mtime_ns % 10**9}"
        return noted.get("mtime") == when and noted.get("size") == str(found.st_size)

    def worktrees(self) -> dict[str, str]:
        """The folders (real paths) of all work trees with their branches, "" where HEAD is detached."""
        found: dict[str, str] = {}
        place = ""
        for line in self.told("worktree", "list", "--porcelain").splitlines():
            name, _, value = line.partition(" ")
            if name == "worktree":
                place = os.path.realpath(value)
                found[place] = ""
            elif name == "branch":
                found[place] = value.removeprefix("refs/heads/")
        return found

    def log(self) -> str:
        """The path of HEAD's reflog."""
        return os.path.join(self.folder, self.told("rev-parse", "--git-path", "logs/HEAD").rstrip("\n"))

    def logged(self) -> int:
        """How many bytes HEAD's reflog has, 0 where there is none."""
        found = self.world.stat(self.log())
        return 0 if found is None else found.st_size

    def movements(self, start: int) -> list[tuple[str, str]]:
        """(commit, what was done) of HEAD's reflog after its first `start` bytes, oldest first."""
        path = self.log()
        if self.world.stat(path) is None:
            return []
        lines = self.world.read(path)[start:].decode("utf-8", "replace").splitlines()
        rows = ((line.split(" ", 2), line.partition("\t")[2]) for line in lines)
        return [(ids[1], what) for ids, what in rows if len(ids) == 3]

    def kept(self, commit: str) -> bool:
        """Whether HEAD or a branch holds a commit."""
        head = self.head()
        if head and self.ancestor(commit, head):
            return True
        contains = f"--contains={check_revision(commit)}"
        return bool(self.told("for-each-ref", "--count=1", contains, "refs/heads/").strip())


class Commit:
    """The raw text of a commit object, taken apart: `parents` (ids), `subject`, `committed` (seconds since the
    epoch)."""

    __slots__ = ("committed", "parents", "subject")

    def __init__(self, raw: str) -> None:
        head, _, message = raw.partition("\n\n")
        lines = head.split("\n")
        self.parents = [line[7:] for line in lines if line.startswith("parent ")]
        committer = next((line for line in lines if line.startswith("committer ")), "")
        when = committer.rpartition("> ")[2].split(" ")[0]
        self.committed = int(when) if when.isdigit() else 0
        self.subject = " ".join(message.lstrip("\n").partition("\n\n")[0].split("\n")).strip()


def check_revision(revision: str) -> str:
    """A revision that cannot be taken for an option."""
    if not revision or revision.startswith("-") or "\0" in revision or "\n" in revision:
        raise Unverified(f"{revision!r} is no revision", "probe")
    return revision


def find_reason(finished: Finished) -> str:
    """The first thing that git complained of."""
    lines = [line for line in finished.stderr.splitlines() if line.strip()]
    return (lines[0] if lines else f"exit code {finished.exit_code}").removeprefix("fatal: ")[:200]
