"""Asks a remote itself for its refs; tracking refs are not trusted. Runs no program that the repository's
configuration names: only the URL comes from there. git runs outside any repository, so that the user's own settings
(ssh, credential helpers, proxy) apply and the repository's do not.
"""

from __future__ import annotations

import os

from truecall_py.core.errors import Unverified
from truecall_py.world.git import QUIET, Repository, find_reason

SCHEMES = ("https", "http", "ssh", "git+ssh", "ssh+git", "git", "file")
TRANSPORTS = "https:http:ssh:git:file"
# Variables that the user's ssh, credential helpers and proxies need besides HOME.
PERSONAL = (
    "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY",
    "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip
MOST = 4  # URLs of one remote
PATIENCE = 5.0  # seconds for one remote


def list_push_urls(repository: Repository, remote: str) -> list[str]:
    """Return the push URLs of a remote (a configured name, a URL or a path). Raises Unverified."""
    if not remote or remote.startswith("-") or "\n" in remote or "\0" in remote:
        raise Unverified(f"{remote!r} is no remote", "probe")
    finished = repository.ask("remote", "get-url", "--push", "--all", "--", remote)
    given = finished.stdout.splitlines() if finished.exit_code == 0 else [remote]
    if len(given) > MOST:
        raise Unverified(f"{remote} has {len(given)} URLs, more than are asked", "probe")
    return [check_url(url, repository) for url in given]


def check_url(url: str, repository: Repository) -> str:
    """Return a URL or an absolute path. Raises Unverified if git would start a program of the repository's choice."""
    scheme, found, _ = url.partition("://")
    if found and scheme.lower() in SCHEMES:
        return url
    if found or url.startswith("-") or "::" in url.partition("/")[0]:
        raise Unverified(f"the remote is reached by {scheme.partition(':')[0]!r}, which is not asked", "probe")
    if ":" in url.partition("/")[0]:
        return url  # host:path
    return url if url.startswith("/") else os.path.join(repository.root(), url)


def refuse_partial_clone(url: str, repository: Repository) -> None:
    """Raises Unverified for a folder of this machine that is a partial clone: an old git, asked for its refs, would
    fetch what is missing there with a program that its configuration names."""
    path = url.removeprefix("file://") if url.startswith("file:///") else url
    if path.startswith("/") and os.path.isdir(path):
        names = r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$"
        if Repository(repository.world, path).ask("config", "--get-regexp", names).stdout:
            raise Unverified("the remote is itself a partial clone, which is not asked", "probe")


def fetch_refs(repository: Repository, url: str, names: list[str], seconds: float = PATIENCE) -> dict[str, str]:
    """Return the ids of the refs with these full names at a URL, without missing ones. Raises Unverified."""
    refuse_partial_clone(url, repository)
    env = {**QUIET, "GIT_ALLOW_PROTOCOL": TRANSPORTS, "GIT_DIR": "/dev/null", "GCM_INTERACTIVE": "never",
           "PATH": repository.env["PATH"]}  # fmt: skip
    env.update({name: os.environ[name] for name in PERSONAL if os.environ.get(name)})
    if "ssh" in url.partition("://")[0].lower() or "://" not in url:
        own = repository.own_setting("core.sshCommand")
        env["GIT_SSH_COMMAND"] = f"{own or 'ssh'} -o BatchMode=yes -o ConnectTimeout=4"
    argv = ["git", "--no-pager", "ls-remote", "--upload-pack=git-upload-pack", "--", url, *names]
    finished = repository.world.run(argv, env, "/", b"", seconds)
    if finished.exit_code is None:
        raise Unverified(f"the remote could not be asked: {finished.trouble}", "probe")
    if finished.exit_code:
        raise Unverified(f"the remote could not be asked: {find_reason(finished)}", "probe")
    pairs = (line.split("\t", 1) for line in finished.stdout.splitlines() if "\t" in line)
    return {name: commit for commit, name in pairs if name in names}
