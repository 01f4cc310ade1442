"""Honest writes, edits and patches, for the packs `files` and `gates`: what tools write, and what a formatter or a
client makes of it at once."""

# ruff: noqa: E501 - tables of cases are read across
from __future__ import annotations

import json
import random
from typing import Any

from detect_world import WORLD, Case

NAMES = ["app.rs", "docs/guide.md", "src/ünï☃.ts", "with blank.txt", "it's.sh", "deep/er/still/x.css", ".env.local", "Makefile", "a.test.js", "new\nline.txt", "x" * 200 + ".txt", "link/n.md"]
TEXTS = [
    "import os\n\n\ndef f(x):\n    return os.path.join('a', x)\n", "# Title\n\nSome text, and more.\n", "one line without an end", "\n", "a\r\nb\r\n", "\ttab\n  two\n", "ünï ☃ 日本\n", "x" * 300_000, "a: 1\nb: [1, 2]\n", '{"a": [1, 2, {"b": null}]}\n',
    "#!/bin/sh\nset -eu\necho \"$1\"\n", "const a = 'x';\nexport default a\n", "<p class='x'>&amp;</p>\n", "“quotes” and ‘more’\n", "trailing   \nblanks \n\n\n",
]  # fmt: skip


def text_of(lines: int, chance: random.Random) -> str:
    return "".join(f"line {number}: {chance.choice(['alpha', 'beta', 'gamma'])} {chance.random()}\n" for number in range(lines))


def formatted(text: str, chance: random.Random) -> bytes:
    """What may stand there right after the write: as it was sent, or as a formatter or an editor keeps it."""
    ways = [text, text, text, text.replace("'", '"'), text.replace("\n", "\r\n").replace("\r\r", "\r"), "\ufeff" + text, text.rstrip() + "\n",
            text.replace("import os\n", "") if "os.path" not in text else text, text.replace("    ", "\t"), "\n".join(line.rstrip() for line in text.split("\n"))]  # fmt: skip
    return chance.choice(ways).encode()


def write(pack: str, path: str, sent: str, held: bytes, refutes: str = "", undo: str = "", **rest: Any) -> Case:
    args = {"file_path": f"{WORLD}/{path}", "content": sent}
    return Case(pack, refutes=refutes, undo=undo, tool="Write", args=args, writes=((path, held),), **rest)


def edit(pack: str, path: str, old: str, new: str, held: bytes, refutes: str = "", undo: str = "", **rest: Any) -> Case:
    args = {"file_path": f"{WORLD}/{path}", "old_string": old, "new_string": new, "replace_all": False}
    return Case(pack, refutes=refutes, undo=undo, tool="Edit", args=args, writes=((path, held),), **rest)


def patch(pack: str, body: str, writes: tuple[tuple[str, bytes | None], ...], refutes: str = "", undo: str = "", **rest: Any) -> Case:
    args = {"command": f"*** Begin Patch\n{body}*** End Patch\n"}
    return Case(pack, refutes=refutes, undo=undo, harness="codex", tool="apply_patch", args=args, writes=writes, **rest)


def added(path: str, text: str) -> str:
    return f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in text.removesuffix("\n").split("\n"))


def quoted(path: str) -> str:
    return "'" + path.replace("'", "'\"'\"'") + "'"


def files(chance: random.Random) -> list[Case]:
    found = []
    for path in NAMES:
        text = chance.choice(TEXTS)
        whole = len(text) > 20
        found.append(write("files", path, text, formatted(text, chance), "file-there"))
        found.append(write("files", path, "", b"", "file-there"))
        sent = text_of(chance.randint(3, 90), chance)
        found.append(write("files", path, sent, sent.encode(), "content-kept", f": > {quoted(path)}"))
        found.append(write("files", path, sent, sent.encode(), "content-kept", f"head -c {len(sent) // 2} {quoted(path)} > t; cat t > {quoted(path)}"))
        if whole and "/" not in path and len(path) < 99 and "\n" not in path:
            found.append(patch("files", added(path, text), ((path, (text.removesuffix("\n") + "\n").encode()),), "file-there"))
    was, now = "alpha\n", text_of(5, chance)
    found += [
        write("files", "a.txt", now, now.encode(), "content-kept", "printf 'alpha\\n' > a.txt"), write("files", "a.txt", was, was.encode() + b"\n"),
        write("files", "../outside/plan.md", now, now.encode(), "file-there"), write("files", "../.config/x/y.toml", "a = 1\n", b"a = 1\n", "file-there"), write("files", "link.txt", now, now.encode(), "content-kept", ": > a.txt"),
        write("files", "dangling", now, now.encode(), "file-there"), write("files", "link/x.md", now, now.encode(), "content-kept", ": > docs/x.md"), write("files", "b.txt", "import os\nimport re\nx = 1\n", b"x = 1\n"),
        edit("files", "a.txt", "alpha", "omega", b"omega\n", "file-there", "rm a.txt"), edit("files", "a.txt", "alpha\n", "", b"", "file-there", "rm a.txt"), edit("files", "a.txt", "alpha", "beta", b"beta\n", "file-there", "rm a.txt; mkdir a.txt"),
        edit("files", "crlf.txt", "x\n", "z\n", b"z\r\ny\r\n", "file-there", "rm crlf.txt"), edit("files", "new.txt", "", "made", b"made", "file-there"), edit("files", "link.txt", "alpha", "x", b"x\n", "file-there", "rm link.txt"),
        edit("files", "../outside/o.txt", "out", "in", b"in\n", "file-there", "rm ../outside/o.txt"), edit("files", "nothing.txt", "", "x", b"x", "file-there", "rm nothing.txt"),
        Case("files", tool="MultiEdit", args={"file_path": f"{WORLD}/a.txt", "edits": [{"old_string": "alpha", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]}, writes=(("a.txt", b"c\n"),), refutes="file-there", undo="rm a.txt"),
        Case("files", tool="NotebookEdit", args={"notebook_path": f"{WORLD}/n.ipynb", "cell_id": "1", "new_source": "x = 1", "edit_mode": "replace"}, writes=(("n.ipynb", b'{"cells": []}'),), refutes="file-there"),
        Case("files", tool="Read", args={"file_path": f"{WORLD}/missing.txt"}, answer={"type": "text", "file": {}}),
        patch("files", "*** Update File: a.txt\n@@\n-alpha\n+omega\n", (("a.txt", b"omega\n"),), "file-there", "rm a.txt"), patch("files", "*** Delete File: a.txt\n", (("a.txt", None),), "file-gone"),
        patch("files", "*** Update File: a.txt\n*** Move to: docs/moved.txt\n@@\n-alpha\n+omega\n", (("docs/moved.txt", b"omega\n"), ("a.txt", None)), "file-there", "rm docs/moved.txt"),
        patch("files", added("n1.txt", "x") + added("n2/y.txt", "y") + "*** Delete File: b.txt\n", (("n1.txt", b"x\n"), ("n2/y.txt", b"y\n"), ("b.txt", None)), "file-there file-gone"),
        patch("files", "*** Update File: crlf.txt\n@@\n-x\n+z\n", (("crlf.txt", b"z\r\ny\r\n"),), "file-there", "rm crlf.txt"), patch("files", "*** Update File: link/x.md\n@@\n-# x\n+# y\n", (("link/x.md", b"# y\n"),), "file-there", "rm docs/x.md"),
        patch("files", added("a.txt", "again"), (("a.txt", b"again\n"),), "content-kept", ": > a.txt"), patch("files", added("empty.txt", ""), (("empty.txt", b""),), "file-there"),
        patch("files", "*** Delete File: link.txt\n", (("link.txt", None),), "file-gone"),
    ]  # fmt: skip
    for where in ("../wt/f.txt", "../wt/deep/g.txt"):
        sent = text_of(4, chance)
        found.append(write("files", where, sent, sent.encode(), "file-there", base="repo", setup="git worktree add -q ../wt -b wt", folder="../wt"))
        found.append(edit("files", "../wt/a.txt", "one", "two", b"two\n", "file-there", "rm ../wt/a.txt", base="repo", setup="git worktree add -q ../wt topic", folder="../wt"))
        stray = {"tool_input": {"file_path": f"{WORLD}/a.txt", "old_string": "one", "new_string": "two"}}  # the main checkout
        found.append(edit("files", "../wt/a.txt", "one", "two", b"two\n", "own-worktree", base="repo", setup="git worktree add -q ../wt topic", folder="../wt", twin=stray))
        found.append(write("files", "../note.md", sent, sent.encode(), "file-there", base="repo", setup="git worktree add -q ../wt -b wt", folder="../wt"))
    return found


WHOLE = {
    "py": ["def f():\n    return 1\n", "x = 1\n", "async def g():\n    async with a() as b, c():\n        yield b\n", "match x:\n    case 1:\n        pass\n", "\ufeffx = 1\n", "#!/usr/bin/env python3\n# -*- coding: latin-1 -*-\nx = 1\n", "def f(a, /, *, b): ...\n", "print(f'{x!r:>{w}}')\n", "x: int = 1\r\ny = 2\r\n", "# only a comment\n"],
    "json": ['{"a": 1}\n', "[]", '"text"', "{\n  \"a\": [1, 2]\n}\n", '{"ü": "\\u2603"}\r\n', "null\n", "1e5", '\ufeff{"a": 1}'],
    "yaml": ["a: 1\nb:\n  - c\n", "---\na: 1\n---\nb: 2\n", "a: &x {b: 1}\nc: *x\n", "a: |\n  text {\n  [\n", "on: push\njobs:\n  a:\n    runs-on: ${{ matrix.os }}\n", "- !Ref X\n- !Sub '${A}'\n", "# nothing\n", "a: !!binary aGk=\n", "key: 'it''s'\n", "a: >-\n  b\n\n  c\n", "%YAML 1.2\n---\na: 1\n"],
    "toml": ["a = 1\n", "[project]\nname = \"x\"\n\n[[tool.y]]\nz = 2020-01-01\n", "a.b = 'c'\r\n", "x = \"\"\"\nmany\n\"\"\"\n", ""],
}  # fmt: skip
BROKEN = {"py": "def f(:\n", "json": '{"a": 1,\n', "yaml": "a: [1\nb: 2\n", "toml": "a = \n"}
# (path, content) on which the pack is silent, or which is right though a plain parser would say no
SPARED = [
    ("tsconfig.json", "{\n  // strict\n  \"a\": 1,\n}\n"), (".vscode/settings.json", "{\n  /* x */\n  \"a\": 1,\n}\n"), ("a.jsonc", "{ // x\n}\n"), (".eslintrc.json", "{\n  // x\n  \"a\": 1\n}\n"), (".devcontainer/devcontainer.json", "{\n// x\n\"a\": 1,\n}\n"), ("deno.json", "{\n  // x\n}\n"), ("any.json", "{\n  // a comment\n  \"a\": 1\n}\n"), ("lines.json", '{"a": 1}\n{"a": 2}\n'), ("x.json5", "{a: 1}"), ("package.json", "{\n  \"name\": \"a\"\n}\n"),
    ("chart/templates/d.yaml", "a: {{ .Values.a }}\n{{- if .b }}\nb: [\n"), ("helm/x.yaml", "{{- include \"a\" . | nindent 4 }}\nb: [\n"), ("play.yml", "a: {{ b }}\n{% for x in y %}\n- [\n{% endfor %}\n"), ("site.j2", "{% x"), ("conf.json", "{\"a\": {{ b }}}\n"), ("a.yaml.tmpl", "["), ("templates/a.py", "{% if %}"), ("cookiecutter.x/{{cookiecutter.name}}/a.py", "import {{cookiecutter.name}}\n"), ("x.py", "{{ import }}\n"), ("conf.toml", "a = {{ b }}\n"), ("erb.yml", "a: <%= b %>\n<% if c %>\n[\n"),
    ("tests/fixtures/bad.json", "{"), ("testdata/a.py", "def ("), ("tests/broken.yaml", "a: ["), ("invalid_syntax.py", "def ("), ("test/__snapshots__/x.json", "{"), ("corpus/1.json", "{,"), ("malformed.toml", "="), ("tests/data/bad-utf8.json", "{"), ("n.ipynb", "{"), ("py2.py", "print 'x'\n"), ("old.py", "exec 'x' in y\nexcept A, e:\n"), ("tabs.yaml", "a:\n\tb: 1\n"), ("empty.json", ""), ("blank.yaml", "\n\n"), ("new_syntax.py", "type X = int\n"), ("doc.md", "{ [ ("), ("a.js", "let a = {"), ("notes.json.md", "{"),
    ("k8s.yaml", "a: 1\n...\n---\nb: 2\n"), ("dup.yaml", "a: 1\na: 2\n"), ("dup.json", '{"a": 1, "a": 2}'), ("nan.json", '{"a": NaN}'), ("deep.json", "[" * 200 + "]" * 200), ("int.json", '{"a": ' + "9" * 400 + "}"), ("big.json", json.dumps(list(range(60000)))), ("stub.pyi", "def f() -> int: ...\nclass A:\n    x: int\n"), ("compose.yaml", "a: &a\n  b: 1\nc:\n  <<: *a\n"), ("mkdocs.yml", "x: !!python/name:a.b\n"), ("cfn.yaml", "A: !GetAtt B.C\nD: !If [x, !Ref Y, Z]\n"), ("gh.yml", "on:\n  push:\n    branches: [main]\nenv:\n  A: ${{ secrets.A }}\n"), ("ssh.toml", "[a]\n[a.b]\nc = {d = 1}\n"), ("Pipfile.toml", "x = '1'\n[[a]]\n[[a]]\n"), ("u.json", '{"a": "\\ud83d\\ude00"}'), ("ansible.yml", "- name: x\n  debug: msg=\"{{ a }}\"\n"), ("colon.yaml", "a: http://x.invalid:80/y\nb: '12:30'\n"), ("swagger.yaml", "paths:\n  /a/{id}:\n    get: {}\n"), ("pre.yaml", "repos:\n- repo: local\n  hooks: [{id: a}]\n"), ("emoji.yaml", "a: 😀\nb: \"\\U0001F600\"\n"),
]  # fmt: skip


def gates(chance: random.Random) -> list[Case]:
    """Files that parse, with a twin that does not; series that are broken for a moment; and what is spared."""
    found = []
    for ending, texts in WHOLE.items():
        for text in texts:
            path = chance.choice(["app", "src/main_x", "conf/with blank", "ünï", ".hidden", "a.b"]) + f".{ending}"
            broken = BROKEN[ending].replace("\n", "\\n").replace("%", "%%")
            undo = f"printf '{broken}' > {quoted(path)}"
            sure = "gates-written" if text.strip() else ""
            found.append(write("gates", path, text, text.encode(), sure, undo))
            setup = f"mkdir -p \"$(dirname {quoted(path)})\"; printf '{broken}' > {quoted(path)}"
            held = chance.choice([text, BROKEN[ending] * 2])  # mended, or not yet
            found.append(edit("gates", path, "a", "b", held.encode(), setup=setup))
            if text.strip():
                named = quoted(path)
                whole = f"mkdir -p \"$(dirname {named})\"; cat > {named} <<'EOF'\n{WHOLE[ending][0]}EOF\n"
                found.append(edit("gates", path, "a", "b", text.encode(), "gates-edited", undo, setup=whole))
                if "/" not in path and chance.random() < 0.5:
                    found.append(patch("gates", added(path, text.replace("\r", "").replace("\ufeff", "")), ((path, text.encode()),), "gates-written", undo))
    for path, text in SPARED:
        found.append(write("gates", path, text, text.encode()))
        if chance.random() < 0.4:
            found.append(edit("gates", path, "a", "b", text.encode(), setup=f"mkdir -p \"$(dirname {quoted(path)})\"; printf '1' > {quoted(path)}" if not path.endswith((".py", ".toml")) else ""))
    return found
