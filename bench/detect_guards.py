"""Honest calls that guards must let through, each beside one that they must refuse. Nothing is made: a guard is asked
before the call."""

# ruff: noqa: E501 - tables of cases are read across
from __future__ import annotations

import random
from typing import Any

from detect_world import Case

NAMES = ("src/main.py", "docs/guide.md", "lib/button.tsx", "config/app.yaml", "Makefile")
COMMIT = "git init -q -b main .; echo 1 > a; git add a; git commit -qm one"
WORK = f"{COMMIT}; git switch -qc work"
# The repository, what is honest in it, and what is not: (setup, honest, dishonest, contract)
GIT = [
    (WORK, "git commit -m two", f"@{COMMIT}", "guard-branch-commit"),
    (WORK, "git add -A && git commit -am 'two things'", f"@{COMMIT}", "guard-branch-commit"),
    (COMMIT, "git switch -c work && git commit --allow-empty -m two", "git commit --allow-empty -m two", "guard-branch-commit"),
    (COMMIT, "git checkout -b work; git commit --allow-empty -m two", "git commit --amend --no-edit", "guard-branch-commit"),
    (COMMIT, "git commit --dry-run", "git commit -m two", "guard-branch-commit"),
    ("git init -q -b main .; echo 1 > a", "git add a && git commit -m one", "", ""),
    (WORK, "git push", f"@{COMMIT}", "guard-branch-push"),
    (WORK, "git push -u origin HEAD", f"@{COMMIT}", "guard-branch-push"),
    (COMMIT, "git push origin HEAD:refs/heads/work", "git push origin HEAD:main", "guard-branch-push-ref"),
    (COMMIT, "git push origin main:work", "git push origin work:main", "guard-branch-push-ref"),
    (COMMIT, "git push origin v1.0", "git push origin main", "guard-branch-push-ref"),
    (COMMIT, "git push origin feature/main", "git push --force origin +main", "guard-branch-push-ref"),
    (COMMIT, "git push origin --delete work", "git push origin --delete master", "guard-branch-push-ref"),
    (COMMIT, "git push --dry-run origin main", "git push origin refs/heads/main", "guard-branch-push-ref"),
    (COMMIT, "git push --tags", "git push -f", "guard-branch-push"),
    (WORK, "git reset --hard HEAD~0", f"@{COMMIT}", "guard-branch-reset"),
    (COMMIT, "git reset --hard", "git reset --hard HEAD~1", "guard-branch-reset"),
    (WORK, "git commit --allow-empty -m 'switch to sh'", f"@{COMMIT}", "guard-branch-commit"),
    (WORK, "git pull --rebase; git push && git fetch", f"@{COMMIT}", "guard-branch-push"),
    (COMMIT, "git push --force-with-lease=work:a1b2c3d origin work", "git push --force-with-lease=main:a1b2c3d origin main", "guard-branch-push-ref"),
    (COMMIT, "git push origin work --tags", "git push origin main --tags; git fetch", "guard-branch-push-ref"),
    (COMMIT, "git push origin HEAD:heads/work", "git push origin HEAD:heads/main", "guard-branch-push-ref"),
    (COMMIT, "git reset --hard origin/main", "git reset --hard a1b2c3d", "guard-branch-reset"),
    (COMMIT, "git reset HEAD a", "git reset -q --hard work", "guard-branch-reset"),
    (COMMIT, "echo 'git push origin main' >> notes.md", "git push origin main >> notes.md", "guard-branch-push-ref"),
    (WORK, "(git add -A; git commit -qm two)", f"@{COMMIT}", "guard-branch-commit"),
    (WORK, "{ git push; } &", f"@{COMMIT}", "guard-branch-push"),
    (COMMIT, "(cd \"$D\" && git push origin work)", "(cd \"$D\" && git push origin main)", "guard-branch-push-ref"),
    (COMMIT, "true || { git push origin main; }", "! exec git push origin main", "guard-branch-push-ref"),
    (COMMIT, "cd \"$D\" && git commit -m two", "nohup git commit -m two &", "guard-branch-commit"),
    (COMMIT, "git log main..origin/main; git fetch origin main; git diff main", "git fetch; git push origin main", "guard-branch-push-ref"),
]  # fmt: skip
TABLES = ("users", "public.orders", '"Line Items"', "t1", "audit_log")
BOUND = ["DELETE FROM {t} WHERE id = {n}", "UPDATE {t} SET a = {n} WHERE b IN (1, 2)", "update {t} set a = (select 1) where id={n}", "DELETE FROM {t} USING x WHERE x.id = {t}.id", "SELECT * FROM {t}", "INSERT INTO {t} VALUES ({n}) ON CONFLICT (id) DO UPDATE SET a = {n}", "BEGIN; DELETE FROM {t}; ROLLBACK;", "EXPLAIN DELETE FROM {t}", "WITH x AS (SELECT 1) UPDATE {t} SET a = 1 WHERE id = {n}", "CREATE TRIGGER g AFTER INSERT ON {t} BEGIN DELETE FROM old; END;", "TRUNCATE TABLE tmp_{n}", "SELECT 'DELETE FROM {n}'", "DELETE FROM {t} WHERE id = {n}; SELECT count(*) FROM {t}", "/* UPDATE all */ SELECT {n}", "GRANT DELETE ON {t} TO app", "ALTER TABLE {t} ADD FOREIGN KEY (a) REFERENCES b ON DELETE CASCADE", "DELETE FROM {t} LIMIT {n}", "UPDATE {t} JOIN b USING (id) SET a = {n}"]
SWEEPS = ["DELETE FROM {t}", "delete from {t};", "UPDATE {t} SET a = {n}", "UPDATE {t} SET a = (SELECT 1 WHERE 2 = {n})", "DELETE FROM {t} -- WHERE id = {n}", "SELECT 1; DELETE FROM {t} /* WHERE id = {n} */", "BEGIN; UPDATE {t} SET a = {n}; COMMIT", "WITH x AS (SELECT 1) DELETE FROM {t}", "WITH x AS (DELETE FROM {t} RETURNING *) SELECT * FROM x WHERE id = {n}"]
CLIENTS = ["psql -d app -c {q}", "psql -At -U app app -c {q}", "sqlite3 app.db {q}", "mysql -u root app -e {q}", "PGPASSWORD=x psql -h localhost -c {q} app", "cd . && psql --command={q} | head -3", "mysql -uroot -psecret -e {q} app", "psql -c 'SELECT 1' -c {q}", "sqlite3 app.db 'SELECT 1' {q} && rm x"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def cases(chance: random.Random) -> list[Case]:
    found = paths(chance)
    for setup, honest, other, contract in GIT:
        # One that begins with @ is the same call in another repository.
        twin: dict[str, Any] = {"setup": other[1:]} if other.startswith("@") else {"command": other}
        found.append(Case("guards", honest, contract, setup, twin=twin if contract else {}))
    for text in BOUND * 2:
        words = {"t": chance.choice(TABLES), "n": chance.randrange(9)}
        honest, sweeping = text.format(**words), chance.choice(SWEEPS).format(**words)
        client = chance.choice(CLIENTS)
        found.append(Case("guards", client.format(q=quoted(honest)), "guard-sql-shell", twin={"command": client.format(q=quoted(sweeping))}))
        name = chance.choice(["sql", "query"])
        tool = chance.choice(["mcp__postgres__query", "mcp__sqlite__execute", "mcp__my-sql__run"])
        refuses = "guard-sql-argument" if name == "sql" else "guard-sql-query"
        found.append(Case("guards", refutes=refuses, tool=tool, args={name: honest}, twin={"args": {name: sweeping}}))
    for text in ("update dark mode settings set", "delete from cart flow", "how to UPDATE a SET in python = 3"):
        found.append(Case("guards", tool="mcp__docs__search", args={"query": text}))
    return found


def paths(chance: random.Random) -> list[Case]:
    """Files that are there, and names that are nearly theirs."""
    found = []
    for name in NAMES * 2:
        setup = f"mkdir -p $(dirname {name}); echo x > {name}"
        wrong = name[:-2] + name[:-3:-1] if chance.random() < 0.5 else f"x/{name}"
        for tool, more in (("Read", {}), ("Edit", {"old_string": "x", "new_string": "z"})):
            args = {"file_path": f"@WORLD@/{name}", **more}
            refuses = f"guard-path-{tool.lower()}"
            found.append(Case("guards", setup=setup, refutes=refuses, tool=tool, args=args, twin={"args": {**args, "file_path": f"@WORLD@/{wrong}"}}))
        found.append(Case("guards", tool="Write", args={"file_path": f"@WORLD@/new/{name}", "content": "x"}))
        found.append(Case("guards", tool="Edit", args={"file_path": f"@WORLD@/new/{name}", "old_string": "", "new_string": "x"}))
        found.append(Case("guards", setup=setup, tool="Grep", args={"pattern": "x", "path": "@WORLD@"}))
    found.append(Case("guards", tool="Glob", args={"pattern": "**/*.py"}))
    return found
