from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from truecall_py.shell.commands import LIMIT, Simple, changes_directory, simple_commands
from truecall_py.shell.runs import check_pattern, runs

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="compares with bash")

PUSH = "git push *"
YES: list[dict[str, str]] = [{}]
HEREDOC_COMMIT = 'git commit -m "$(cat <<\'EOF\'\nfix: it\'s (really) "done"\n\ngit push later\nEOF\n)"'

Row = tuple[str, str, "int | None", "list[dict[str, str]] | None"]


def at(directory: str) -> list[dict[str, str]]:
    return [{"directory": directory}]


def files(*names: str) -> list[dict[str, str]]:
    return [{"file": name} for name in names]


CERTAIN: list[Row] = [
    (PUSH, "git push", 0, YES),
    (PUSH, "git push", 1, YES),
    (PUSH, "git push", None, YES),
    (PUSH, "git push", 127, None),
    (PUSH, "  git   push\torigin main  ", 0, YES),
    (PUSH, "git push origin $BRANCH", 0, YES),
    (PUSH, "git push; true", 0, YES),
    (PUSH, "git push; false", 1, YES),
    (PUSH, "git push\n", 0, YES),
    (PUSH, "\n\ngit push", 0, YES),
    (PUSH, "sleep 1; git push", 0, YES),
    (PUSH, "sleep 1; git push", 3, YES),
    (PUSH, "sleep 1; git push", None, None),
    (PUSH, "sleep 1; git push", 124, None),
    (PUSH, "sleep 1; git push", 137, None),
    (PUSH, "sleep 1; git push", -15, None),
    (PUSH, "echo a\necho b\ngit push", 0, YES),
    (PUSH, "git push || true", 0, YES),
    (PUSH, "git push || echo failed", None, YES),
    (PUSH, "git push || exit 1", 1, YES),
    (PUSH, "git push | tee log", 0, YES),
    (PUSH, "git push 2>&1 | tail -5", 0, YES),
    (PUSH, "git push |& cat", 0, YES),
    (PUSH, "echo y | git push", 0, YES),
    (PUSH, "echo y | git push", 1, YES),
    (PUSH, "echo y | git push", None, None),  # the shell may have been killed between the two
    (PUSH, "echo y | git push | tail -3", 0, YES),
    (PUSH, "echo y | git push $((1/0))", 0, None),
    (PUSH, "echo y | git push > log", 0, YES),
    (PUSH, "echo y | git push > log", 1, None),
    (PUSH, "echo y | git push > log | tail", 0, None),
    (PUSH, "{ echo y; } | git push", 0, YES),
    (PUSH, "echo y | ( git push )", 0, None),
    (PUSH, "! echo y | git push", 0, None),
    (PUSH, "echo y | git push &", 0, None),
    (PUSH, "echo y | xargs git push", 0, None),
    (PUSH, "npm test && echo y | git push", 0, YES),
    (PUSH, "npm test && echo y | git push", 1, None),
    (PUSH, "git push && echo ok", 0, YES),
    (PUSH, "git push && echo ok", 1, YES),
    (PUSH, "git push && echo ok", None, YES),
    (PUSH, "npm test && git push", 0, YES),
    (PUSH, "npm test && git push", 1, None),
    (PUSH, "npm test && git push", None, None),
    (PUSH, "false && git push", 1, None),
    (PUSH, "npm test && git push; echo done", 0, None),
    (PUSH, "npm test && git push || true", 0, None),
    (PUSH, "npm test && git push | cat", 0, YES),
    (PUSH, "npm test && git push &", 0, None),
    (PUSH, "npm test && ! git push", 0, None),
    (PUSH, "npm test && git push && ! grep x y", 0, None),
    (PUSH, "npm test ||  git push", 0, None),
    (PUSH, "npm test || npm run fix && git push", 0, YES),
    (PUSH, "npm test && echo a && git push && echo b", 0, YES),
    (PUSH, "git push &", 0, None),
    (PUSH, "git push & wait", 0, None),
    (PUSH, "! git push", 0, None),
    (PUSH, "time git push", 0, YES),
    (PUSH, "time -p git push", 0, YES),
    (PUSH, "if true; then git push; fi", 0, None),
    (PUSH, "if git push; then echo a; fi", 0, None),
    (PUSH, "for i in 1 2; do git push; done", 0, None),
    (PUSH, "while true; do git push; break; done", 0, None),
    (PUSH, "until git push; do sleep 1; done", 0, None),
    (PUSH, "case $x in a) git push;; esac", 0, None),
    (PUSH, "( git push )", 0, None),
    (PUSH, "{ git push; }", 0, None),
    (PUSH, "f() { git push; }; f", 0, None),
    (PUSH, "function f { git push; }\nf", 0, None),
    (PUSH, "git() { echo no; }; git push", 0, None),
    (PUSH, "alias git=echo; git push", 0, None),
    (PUSH, "unset -f git; git push", 0, None),
    (PUSH, "for i in 1 2; do echo $i; done; git push", 0, YES),
    (PUSH, "if [ -f x ]; then echo a; fi\ngit push", 0, YES),
    (PUSH, "exit 0; git push", 0, None),
    (PUSH, "[ -f x ] && exit; git push", 0, None),
    (PUSH, "[ -f x ] || exit 1; git push", 0, YES),
    (PUSH, "[ -f x ] || exit 1; git push", 1, None),
    (PUSH, "return; git push", 0, None),
    (PUSH, "exec bash; git push", 0, None),
    (PUSH, "exec git push", 0, None),
    (PUSH, "trap 'exit 0' EXIT; git push", 0, None),
    (PUSH, "set -e; npm test; git push", 0, YES),
    (PUSH, "set -euo pipefail\nnpm test\ngit push", 0, YES),
    (PUSH, "set -e; npm test; git push", 1, None),
    (PUSH, "set -n; git push", 0, None),
    (PUSH, "set $X; git push", 0, None),
    (PUSH, "$RUN; git push", 0, None),
    (PUSH, "source env.sh; git push", 0, None),
    (PUSH, "eval x; git push", 0, None),
    (PUSH, "for f in a b; do break; done; git push", 0, YES),
    (PUSH, "break; git push", 0, None),
    (PUSH, "git push > log 2>&1", 0, YES),
    (PUSH, "git push > log 2>&1", 1, None),
    (PUSH, "git push > log 2>&1; true", 0, None),
    (PUSH, "git push >/dev/null 2>&1; true", 0, YES),
    (PUSH, "git push < missing || true", 0, None),
    (PUSH, "git push ${X:?unset}", 0, YES),
    (PUSH, "git push ${X:?unset}", 1, None),
    (PUSH, "git push ${X:?unset} | cat", 0, None),
    (PUSH, "git push $((1/0))", 0, None),
    (PUSH, "x=$((n/0)); git push", 0, None),
    (PUSH, "git push <(echo x)", 0, None),
    (PUSH, "x=$(date); git push", 0, YES),
    (PUSH, "x=`date`; git push", 0, YES),
]

NOT_COMMANDS: list[Row] = [
    (PUSH, 'echo "git push"', 0, None),
    (PUSH, "echo git push", 0, None),
    (PUSH, "'git push'", 0, None),
    (PUSH, "# git push", 0, None),
    (PUSH, "echo a # ; git push", 0, None),
    (PUSH, "echo a#; git push", 0, YES),
    (PUSH, "cat <<EOF\ngit push\nEOF", 0, None),
    (PUSH, "cat <<'EOF'\ngit push\nEOF\ngit push", 0, YES),
    (PUSH, "cat <<-EOF\n\tgit push\n\tEOF\necho x", 0, None),
    (PUSH, "cat <<A <<B\ngit push\nA\ngit push\nB\n", 0, None),
    (PUSH, "cat <<EOF && git push\ntext ' \" ( \nEOF\n", 0, YES),
    (PUSH, "cat <<E\\\nOF\ngit push\nEOF\n", 0, None),
    (PUSH, "cat <<EOF\ngit push\n", 0, None),
    (PUSH, "cat <<< 'git push'", 0, None),
    (PUSH, 'git commit -m "fix; git push"', 0, None),
    (PUSH, "git commit -m 'a\ngit push\n'", 0, None),
    (PUSH, 'bash -c "git push"', 0, None),
    (PUSH, "sh -c 'git push'", 0, None),
    (PUSH, 'eval "git push"', 0, None),
    (PUSH, "echo origin | xargs git push", 0, None),
    (PUSH, "echo $(git push)", 0, None),
    (PUSH, "echo `git push`", 0, None),
    (PUSH, "cat <(git push)", 0, None),
    (PUSH, "[[ git == push ]]", 0, None),
    (PUSH, "(( git push ))", 0, None),
    (PUSH, "ssh host git push", 0, None),
    (PUSH, "git commit -m 'x", 0, None),
    (PUSH, 'git push "', 0, None),
    (PUSH, "git push $(", 0, None),
    (PUSH, "git push )", 0, None),
    (PUSH, "git push; fi", 0, None),
    (PUSH, "git push &&", 0, None),
    (PUSH, "git push; ; true", 0, None),
    (PUSH, "git push; [[ a b ]]", 0, None),
    (PUSH, "git push\\\n origin", 0, YES),
    (PUSH, "gi\\\nt push", 0, None),
    (PUSH, "git push\r", 0, None),
    (PUSH, "git pus''h", 0, YES),
    (PUSH, "git $'push'", 0, YES),
    (PUSH, "git $CMD", 0, None),
    (PUSH, "git {push,pull}", 0, None),
    (PUSH, "git push\0", 0, None),
    (PUSH, "", 0, None),
    ("git commit *", HEREDOC_COMMIT, 0, YES),
    ("git commit *", f"git add -A && {HEREDOC_COMMIT} && git push", 0, YES),
    ("git commit -m *", f"{HEREDOC_COMMIT}", 0, YES),
    ("git commit -m 'a b'", 'git commit -m "a b"', 0, YES),
]

DROPPED: list[Row] = [
    (PUSH, "/usr/bin/git push", 0, YES),
    (PUSH, "A=1 git push", 0, YES),
    (PUSH, "A=$X B='c d' git push", 0, YES),
    (PUSH, "GIT_DIR=x git push", 0, None),
    (PUSH, "export GIT_DIR=x; git push", 0, None),
    (PUSH, "export X=1; git push", 0, YES),
    (PUSH, "GIT_SSH_COMMAND='ssh -v' git push", 0, YES),
    (PUSH, "HOME=/x git push", 0, None),
    (PUSH, "UID=3 git push", 0, None),
    (PUSH, "env git push", 0, YES),
    (PUSH, "env A=1 -u B git push", 0, YES),
    (PUSH, "env -i A=1 git push", 0, YES),
    (PUSH, "env GIT_DIR=x git push", 0, None),
    (PUSH, "env -C x git push", 0, None),
    (PUSH, "env -S 'git push'", 0, None),
    (PUSH, "sudo git push", 0, YES),
    (PUSH, "sudo git push", 1, None),
    (PUSH, "sudo -n -u x git push", 0, YES),
    (PUSH, "sudo -i git push", 0, None),
    (PUSH, "sudo git push || true", 0, None),
    (PUSH, "nohup git push", 0, YES),
    (PUSH, "command git push", 0, YES),
    (PUSH, "command -v git push", 0, None),
    (PUSH, "nice -n 5 git push", 0, YES),
    (PUSH, "timeout 60 git push", 0, YES),
    (PUSH, "timeout -k 5 60 git push", 0, YES),
    (PUSH, "/usr/bin/time -v git push", 0, YES),
    (PUSH, "env sudo nice git push", 0, YES),
    (PUSH, "env $X git push", 0, None),
    (PUSH, "git -C x push", 0, at("x")),
    (PUSH, "git -C x -C y push", 0, at("x/y")),
    (PUSH, "git -C x -C /y push", 0, at("/y")),
    (PUSH, 'git -C "$DIR" push', 0, None),
    (PUSH, "git -c user.name=a --no-pager push", 0, YES),
    (PUSH, "git -c core.worktree=/x push", 0, None),
    (PUSH, "git --git-dir=x push", 0, None),
    (PUSH, "git --work-tree x push", 0, None),
    (PUSH, "git --bare push", 0, YES),
    (PUSH, "git --exec-path=/x push", 0, None),
    (PUSH, "git push -h", 0, None),
    (PUSH, "git push --help", 0, None),
    ("deploy.sh *", "./ops/deploy.sh prod", 0, YES),
    ("./deploy.sh *", "./deploy.sh prod", 0, YES),
    ("./deploy.sh *", "deploy.sh prod", 0, None),
]

PLACES: list[Row] = [
    (PUSH, "cd x && git push", 0, at("x")),
    (PUSH, "cd x && git push", 1, None),
    (PUSH, "cd x; git push", 0, None),
    (PUSH, "cd x\ngit push", 0, None),
    (PUSH, "cd /a && cd b && git push", 0, at("/a/b")),
    (PUSH, "cd ~/a && git -C b push 2>&1 | tail -3", 0, at("~/a/b")),
    (PUSH, "cd 'my dir' && git push", 0, at("my dir")),
    (PUSH, 'cd "$X" && git push', 0, None),
    (PUSH, "cd - && git push", 0, None),
    (PUSH, "cd && git push", 0, at("~")),
    (PUSH, "pushd x && git push", 0, at("x")),
    (PUSH, "popd && git push", 0, None),
    (PUSH, "cd x | cat && git push", 0, None),
    (PUSH, "(cd x && make) && git push", 0, None),
    (PUSH, "cd x || cd y && git push", 0, None),
    (PUSH, "D=$(cd x && pwd) && git push", 0, YES),
    (PUSH, "git push && cd x", 0, YES),
    ("touch {file}", "cd x && touch a", 0, [{"file": "a", "directory": "x"}]),
    ("touch {file}", "cd x; touch a", 0, None),
    ("touch {file}", "cd x; touch /a", 0, files("/a")),
    ("touch {file}", "cd x; touch ~/a", 0, files("~/a")),
    ("touch {file}", "cd a && cd .. && touch f", 0, None),  # the shell and the kernel part at a link
    ("touch {file}", "cd a/../b && touch f", 0, None),
    ("touch {file}", "cd a && cd ../b && touch /f", 0, [{"file": "/f"}]),
    ("touch {file}", "cd .. && touch f", 0, [{"file": "f", "directory": ".."}]),
    ("touch {file}", "cd ../../x && touch f", 0, [{"file": "f", "directory": "../../x"}]),
]

OPERANDS: list[Row] = [
    ("touch {file...}", "touch a", 0, files("a")),
    ("touch {file...}", "touch 'a b' \"c d\"", 0, files("a b", "c d")),
    ("touch {file...}", "touch a\\ b", 0, files("a b")),
    ("touch {file...}", "touch $X", 0, None),
    ("touch {file...}", "touch a $X", 0, None),
    ("touch {file...}", "touch *.txt", 0, None),
    ("touch {file...}", "touch '*.txt'", 0, files("*.txt")),
    ("touch {file...}", "touch {a,b}", 0, None),
    ("touch {file...}", "touch a{1..3}", 0, None),
    ("touch {file...}", "touch {a}", 0, files("{a}")),
    ("touch {file...}", "touch ~/a", 0, files("~/a")),
    ("touch {file...}", "touch '~/a'", 0, None),
    ("touch {file...}", "touch ~bob/a", 0, None),
    ("touch {file...}", 'touch "~/a"', 0, None),
    ("touch {file...}", "touch a~", 0, files("a~")),
    ("touch {file...}", "touch 'it'\\''s'", 0, files("it's")),
    ("touch {file...}", 'touch "a\\$b\\c"', 0, files("a$b\\c")),
    ("touch {file...}", "touch $'a\\tb'", 0, files("a\tb")),
    ("touch {file...}", "touch $'\\303\\251'", 0, None),
    ("touch {file...}", 'touch $"a"', 0, None),
    ("touch {file...}", "touch é", 0, files("é")),
    ("touch {file...}", "touch ''", 0, None),
    ("touch {file...}", "touch", 1, None),
    ("touch {file...}", "touch -d yesterday f", 0, None),
    ("touch {file...}", "touch -- -x", 0, files("-x")),
    ("touch {file...}", "touch a; touch b", 0, files("a", "b")),
    ("touch {file...}", "touch a && touch b", 0, files("a", "b")),
    ("touch {file...}", "touch a && touch b", 1, files("a")),
    ("touch {file...}", "touch a >/dev/null 2>&1", 0, files("a")),
    ("touch {file...}", "touch a & touch b", 0, files("b")),
    ("touch {file}", "touch a b", 0, None),
    ("touch {file} *", "touch a b", 0, files("a")),
    ("touch {file}", "touch", 0, None),
    ("mv {from} {to}", "mv a b", 0, [{"from": "a", "to": "b"}]),
    ("mv {from} {to}", "mv -f a b", 0, None),
    ("mv [-f] {from} {to}", "mv -f a b", 0, [{"from": "a", "to": "b"}]),
    ("cp {from} {to...}", "cp a b c", 0, [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}]),
    ("mkdir [-pv] [--parents] {file...}", "mkdir -p a b", 0, files("a", "b")),
    ("mkdir [-pv] [--parents] {file...}", "mkdir -vp a --parents b -v", 0, files("a", "b")),
    ("mkdir [-pv] [--parents] {file...}", "mkdir -m 700 a", 0, None),
    ("mkdir [-p] {file...}", "mkdir -pm 700 a", 0, None),
    ("mkdir [-p] {file...}", "mkdir -p -- -p", 0, files("-p")),
    ("git push [-u] origin {branch}", "git push -u origin main", 0, [{"branch": "main"}]),
    ("git push [-u] origin {branch}", "git push origin main -u", 0, [{"branch": "main"}]),
    ("git push !--dry-run !-n *", "git push origin", 0, YES),
    ("git push !--dry-run !-n *", "git push --dry-run", 0, None),
    ("git push !--dry-run !-n *", "git push --dry", 0, None),
    ("git push !--dry-run !-n *", "git push -nv", 0, None),
    ("git push !--dry-run !-n *", "git push $X", 0, None),
    ("git commit !--dry-run *", HEREDOC_COMMIT, 0, YES),
    ("git push", "git push origin", 0, None),
    ("git p?s* *", "git push origin", 0, YES),
    ("git * origin", "git push origin", 0, YES),
    ("git * origin", "git $X origin", 0, None),
    ("echo a*c", "echo abbbc", 0, YES),
    ("echo 'a*c'", "echo abbbc", 0, None),
]

LATER: list[Row] = [
    ("mkdir {file...}", "mkdir a && rmdir a", 0, None),
    ("mkdir {file...}", "mkdir a b && rmdir a", 0, files("b")),
    ("mkdir {file...}", "mkdir a; rm -rf ./a/", 0, None),
    ("mkdir {file...}", "mkdir a/b && rm -rf a", 0, None),
    ("mkdir {file...}", "mkdir a && touch a/b", 0, None),
    ("mkdir {file...}", "mkdir a; rm -rf *", 0, None),
    ("mkdir {file...}", "mkdir a; rm -rf $X", 0, None),
    ("mkdir {file...}", "mkdir a; rm -rf .", 0, None),
    ("mkdir {file...}", "mkdir a; rm -rf ../x", 0, None),
    ("mkdir {file...}", "mkdir ../a; rm -rf ../c", 0, files("../a")),
    ("mkdir {file...}", "mkdir a; rm -rf /tmp/b", 0, None),
    ("mkdir {file...}", "mkdir /tmp/a; rm -rf /tmp/b", 0, files("/tmp/a")),
    ("mkdir {file...}", "mkdir a; rm -rf b", 0, files("a")),
    ("mkdir {file...}", "mkdir link/ab; mv docs src", 0, None),  # to where the link may lead
    ("mkdir {file...}", "mkdir link/ab; ln -sfn docs src", 0, None),
    ("mkdir {file...}", "mkdir /home/ab; mv /docs /src", 0, None),
    ("mkdir {file...}", "mkdir link/ab; rm -rf link/cd link/ef/gh", 0, files("link/ab")),
    ("mkdir {file...}", "mkdir a; rm -rf A", 0, None),
    ("mkdir {file...}", "mkdir a; ls a", 0, files("a")),
    ("mkdir {file...}", "mkdir a; ls $X", 0, files("a")),
    ("mkdir {file...}", "mkdir a; echo x > a/log", 0, None),
    ("mkdir {file...}", "mkdir a; echo x > $LOG", 0, None),
    ("mkdir {file...}", "mkdir a; echo x > b", 0, files("a")),
    ("mkdir {file...}", "mkdir a; echo x >&2", 0, files("a")),
    ("mkdir {file...}", "mkdir ab; bash -c 'rm -r ab'", 0, None),
    ("mkdir {file...}", "mkdir ab; python3 -c 'x()'", 0, None),
    ("mkdir {file...}", "mkdir ab; echo ab | xargs rm", 0, None),
    ("mkdir {file...}", "mkdir ab; find . -delete", 0, None),
    ("mkdir {file...}", "mkdir ab; find . -name x", 0, files("ab")),
    ("mkdir {file...}", "mkdir ab; if x; then rmdir ab; fi", 0, None),
    ("mkdir {file...}", "mkdir ab; echo $(rmdir ab)", 0, None),
    ("mkdir {file...}", "mkdir ab; echo `rmdir ab`", 0, None),
    ("mkdir {file...}", "mkdir ab; cat <<E\n$(rmdir ab)\nE\n", 0, None),
    ("mkdir {file...}", "mkdir ab | rmdir ab", 0, None),
    ("mkdir {file...}", "f() { rmdir ab; }; mkdir ab; f", 0, None),
    ("mkdir {file...}", "{ sleep 1; rmdir ab; } & mkdir ab", 0, None),
    ("mkdir {file...}", "rmdir ab; mkdir ab", 0, files("ab")),
    ("mkdir {file...}", "mkdir ab && cd ab", 0, files("ab")),
    ("mkdir {file...}", "mkdir ab && cd ab && rm x", 0, None),
    ("mkdir {file...}", "mkdir ab && git stash -u", 0, None),
    ("mkdir {file...}", "mkdir ab && git commit -m x", 0, files("ab")),
    ("mkdir {file...}", "mkdir ab && npm test", 0, None),  # a program that is not known may change anything
    ("mkdir {file...}", "mkdir ab && $X", 0, None),
    ("pip install {file...}", "pip install requests==2.0; pip uninstall -y requests", 0, None),
    (PUSH, "git push && rm -rf .git", 0, None),
    (PUSH, "git push && git reset --hard HEAD~1", 0, None),
    (PUSH, "git push; git status; git log -1", 0, YES),
    (PUSH, "git push; git branch --show-current", 0, YES),
    (PUSH, "git push; git branch -D x", 0, None),
    (PUSH, "git push; git $X", 0, None),
    (PUSH, "git push && npm test", 0, None),
    (PUSH, "git push; bash undo.sh", 0, None),
    (PUSH, "git push && git push --tags", 0, YES),
    ("git commit *", "git commit -m x && git reset HEAD~1", 0, None),
    ("git add {file...}", "git add a && git commit -m x", 0, None),
    ("npm install *", "npm install && npm uninstall x", 0, None),
]


CP = "cp [-fv] [--force] {source...} {target}"
MKDIR = "mkdir [-pv] [-m=] [--mode=] {dir...}"
CURL = "curl [-fsSL] [--fail] [-H=] [--header=] [-o={file}] [--output={file}] {url}"
PSQL = "psql [-q] [-h=] [-c={sql...}] [--command={sql...}] *"
MYSQL = "mysql [-Bu] [-p=?] [--password=?] [-e={sql}] *"
INSIDE = "mv {source...} {target} {inside}={target}/{source}"


def pairs(target: str, *sources: str) -> list[dict[str, str]]:
    return [{"target": target, "source": source} for source in sources]


def inside(source: str, target: str, inside: str) -> list[dict[str, str]]:
    return [{"source": source, "target": target, "inside": inside}]


def saved(file: str) -> list[dict[str, str]]:
    return [{"file": file, "url": "u"}]


WORDS_AFTER: list[Row] = [
    (CP, "cp a b", 0, pairs("b", "a")),
    (CP, "cp -f a b c d", 0, pairs("d", "a", "b", "c")),
    (CP, "cp a b c -f", 0, pairs("c", "a", "b")),
    (CP, "cp -- -a b", 0, pairs("b", "-a")),
    (CP, "cp a -- -b", 0, pairs("-b", "a")),
    (CP, "cp a", 0, None),
    (CP, "cp", 0, None),
    (CP, "cp a -b", 0, None),
    (CP, "cp -t d a b", 0, None),
    (CP, "cp a $X", 0, None),
    (CP, "cp $X b", 0, None),
    (CP, "cp *.txt d/", 0, None),
    (CP, "cp a{,.bak} d", 0, None),
    (CP, "cp a ''", 0, None),
    (CP, "cp 'a b' ~/d", 0, pairs("~/d", "a b")),
    ("cp {source...} .", "cp a b .", 0, [{"source": "a"}, {"source": "b"}]),
    ("cp {source...} .", "cp a b c", 0, None),
    ("cp -t {target} {source...}", "cp -t d a b", 0, pairs("d", "a", "b")),
    ("scp {a} {b...} {c} {d}", "scp 1 2 3 4 5", 0, [{"a": "1", "b": b, "c": "4", "d": "5"} for b in "23"]),
    ("scp {a} {b...} {c} {d}", "scp 1 2 3", 0, None),
    (MKDIR, "mkdir -m 700 a", 0, [{"dir": "a"}]),
    (MKDIR, "mkdir -m700 a", 0, [{"dir": "a"}]),
    (MKDIR, "mkdir -pm 700 a b", 0, [{"dir": "a"}, {"dir": "b"}]),
    (MKDIR, "mkdir -vpm700 a", 0, [{"dir": "a"}]),
    (MKDIR, "mkdir --mode=700 a", 0, [{"dir": "a"}]),
    (MKDIR, "mkdir --mode 700 a", 0, [{"dir": "a"}]),
    (MKDIR, "mkdir a -m 700", 0, [{"dir": "a"}]),
    (MKDIR, "mkdir a -m", 0, None),
    (MKDIR, "mkdir -m $M a", 0, None),
    (MKDIR, "mkdir -Zm 700 a", 0, None),
    (MKDIR, "mkdir -- -m 700", 0, [{"dir": "-m"}, {"dir": "700"}]),
    (MKDIR, "mkdir --mo 700 a", 0, None),
    ("a [--b] {c}", "a --b=1 c", 0, None),
    (CURL, "curl -o f u", 0, saved("f")),
    (CURL, "curl u -o f", 0, saved("f")),
    (CURL, "curl -fsSLo f u", 0, saved("f")),
    (CURL, "curl -of u", 0, saved("f")),
    (CURL, "curl --output f u", 0, saved("f")),
    (CURL, "curl --output=f u", 0, saved("f")),
    (CURL, "curl -H 'A: -o x' -o f u", 0, saved("f")),
    (CURL, "curl -H -o f u", 0, None),  # -o is what is sent
    (CURL, "curl u", 0, None),
    (CURL, "curl -o - u", 0, None),
    (CURL, "curl -o '' u", 0, None),
    (CURL, "curl -o $F u", 0, None),
    (CURL, "curl -o f -o g u", 0, None),
    (CURL, "curl -o f --output g u", 0, None),
    (CURL, "curl -Z -o f u", 0, None),
    (PSQL, "psql -c a -qc b x --command=c", 0, [{"sql": "a"}, {"sql": "b"}, {"sql": "c"}]),
    (PSQL, "psql -h c x -c a $X", 0, [{"sql": "a"}]),
    (PSQL, "psql -c a -c $X", 0, None),
    (PSQL, "psql -h c", 0, None),
    (MYSQL, "mysql -e a -Bpsecret x", 0, [{"sql": "a"}]),
    (MYSQL, "mysql -p -e a", 0, [{"sql": "a"}]),
    (MYSQL, "mysql --password=e --password -e a", 0, [{"sql": "a"}]),
    (MYSQL, "mysql -pe a", 0, None),  # that is the password
    (CURL, "curl -o f", 0, None),
    (INSIDE, "mv a b", 0, inside("a", "b", "b/a")),
    (INSIDE, "mv x/a b/", 0, inside("x/a", "b/", "b/a")),
    (INSIDE, "mv a/ .", 0, inside("a/", ".", "./a")),
    (INSIDE, "mv /x/a /", 0, inside("/x/a", "/", "/a")),
    (INSIDE, "mv . b", 0, None),
    (INSIDE, "mv link link/new", 0, None),  # the link goes, and its path with it
    (INSIDE, "mv a link ./link/new", 0, None),
    (INSIDE, "mv link /home/link/new", 0, None),
    (INSIDE, "mv a a/../new", 0, None),  # there is no a any more to go through
    (INSIDE, "mv link/a link", 0, None),
    (INSIDE, "mv x/a /home/a", 0, inside("x/a", "/home/a", "/home/a/a")),
    (INSIDE, "mv x/.. b", 0, None),
    (INSIDE, "mv / b", 0, None),
    ("zip {file} {other}={file}.zip", "zip a", 0, [{"file": "a", "other": "a.zip"}]),
    ("a {b} {c}={b}-{b}", "a x/y", 0, [{"b": "x/y", "c": "x/y-x/y"}]),
    ("rm !sudo {file}", "rm a", 0, files("a")),
    ("rm !sudo {file}", "sudo rm a", 0, None),
    ("rm !sudo {file}", "env X=1 /usr/bin/sudo -n rm a", 0, None),
    ("rm !sudo {file}", "nice rm a", 0, files("a")),
]

TEXT = [{"file": "f", "text": "a\n"}]
SORT = "sort * > {file}"
ANY = "* > {file}"
CAT = "cat > {file} << {text}"

OUTPUT: list[Row] = [
    (SORT, "sort a > f", 0, files("f")),
    (SORT, "sort a >f", 0, files("f")),
    (SORT, "> f sort a", 0, files("f")),
    (SORT, "sort a >| f", 0, files("f")),
    (SORT, "sort a 1> f", 0, files("f")),
    (SORT, "sort a &> f", 0, files("f")),
    (SORT, "sort a >& f", 0, files("f")),
    (SORT, "sort a > f 2>&1", 0, files("f")),
    (SORT, "sort a 2>&1 > f", 0, files("f")),
    (SORT, "sort a 2> e > f", 0, files("f")),
    (SORT, "sort < a > f", 0, files("f")),
    (SORT, "sort a > 'a b'", 0, files("a b")),
    (SORT, "sort a > ~/f", 0, files("~/f")),
    (SORT, "sort a > f", 1, None),
    (SORT, "sort a > f", None, None),
    (SORT, "sort a >> f", 0, None),
    (SORT, "sort a 2> f", 0, None),
    (SORT, "sort a 3> f", 0, None),
    (SORT, "sort a {fd}> f", 0, None),
    (SORT, "sort a 1<> f", 0, None),
    (SORT, "sort a > f > g", 0, None),
    (SORT, "sort a > f 1>&2", 0, None),
    (SORT, "sort a >&2", 0, None),
    (SORT, "sort a >&-", 0, None),
    (SORT, "sort a > /dev/null", 0, None),
    (SORT, "sort a > /dev/stderr", 0, None),
    (SORT, "sort a > /dev/tcp/h/80", 0, None),
    (SORT, "sort a > /proc/self/fd/2", 0, None),
    (SORT, "sort a > $F", 0, None),
    (SORT, 'sort a > "$F"', 0, None),
    (SORT, "sort a > *.txt", 0, None),
    (SORT, "sort a > ~x/f", 0, None),
    (SORT, "sort a > f{1,2}", 0, None),
    (SORT, "sort a > >(cat)", 0, None),
    (SORT, "sort a > $(mktemp)", 0, None),
    (SORT, "ls > f", 0, None),
    (SORT, "echo 'sort a > f'", 0, None),
    (SORT, "# sort a > f", 0, None),
    (SORT, "(sort a) > f", 0, None),
    (SORT, "{ sort a; } > f", 0, None),
    (SORT, "for i in 1; do sort a; done > f", 0, None),
    (SORT, "sort a > f &", 0, None),
    (SORT, "sort a > f || true", 0, None),
    (SORT, "sort a > f; true", 0, None),
    (SORT, "cat a | sort > f", 0, files("f")),
    (SORT, "sort a > f | cat", 0, None),
    (SORT, "sort a > f && rm f", 0, None),
    (SORT, "sort a > f && mv f g", 0, None),
    (SORT, "sort a > f && wc -l f", 0, files("f")),
    (SORT, "sort a > f && ./x", 0, None),
    (SORT, "cd d && sort a > f", 0, [{"file": "f", "directory": "d"}]),
    (SORT, "sort f > f", 0, files("f")),
    ("sort * >> {file}", "sort a >> f", 0, files("f")),
    ("sort * >> {file}", "sort a &>> f", 0, files("f")),
    ("sort * >> {file}", "sort a > f", 0, None),
    (ANY, "> f", 0, files("f")),
    (ANY, ": > f", 0, files("f")),
    (ANY, "X=1 > f", 0, files("f")),
    (ANY, "x=$(date) > f", 0, files("f")),
    (ANY, "npm test > f 2>&1", 0, files("f")),
    (ANY, "python3 gen.py --all > f", 0, files("f")),
    (ANY, "npx vite build > dist/fff", 0, None),  # which empties dist
    (ANY, "npx vite build > /tmp/out", 0, files("/tmp/out")),
    (ANY, "python3 gen.py > dist/fff", 0, files("dist/fff")),
    (ANY, "python3 gen.py fff > fff", 0, None),
    (ANY, "sed s/a/b/ x > dist/fff", 0, files("dist/fff")),
    ("tee {file}", "npx vite build | tee dist/fff", 0, None),
    (ANY, "git log > fff", 0, files("fff")),
    (ANY, "git clean -fdx > fff", 0, None),
    (ANY, "git stash -u > fff", 0, None),
    (ANY, "make clean > fff", 0, None),
    (ANY, "rm -rf fff > fff", 0, None),
    (ANY, "rm -rf $X > fff", 0, None),
    (ANY, "rm -rf x > fff", 0, files("fff")),
    (ANY, "sh x.sh > fff", 0, None),
    (ANY, "find . -delete > fff", 0, None),
    (ANY, "$RUN > fff", 0, None),
    (ANY, "./tidy.sh fff > fff", 0, None),
    (ANY, "rm -rf d > d/log", 0, None),
    (CAT, "cat > f <<'E'\na\nE\n", 0, TEXT),
    (CAT, "cat <<'E' > f\na\nE\n", 0, TEXT),
    (CAT, "cat > f <<E\na\nE\n", 0, TEXT),
    (CAT, "cat > f <<-E\n\ta\nE\n", 0, TEXT),
    (CAT, "cat > f <<'E'\n$a `b`\nE\n", 0, [{"file": "f", "text": "$a `b`\n"}]),
    (CAT, "cat > f <<E\n$a\nE\n", 0, None),
    (CAT, "cat > f <<E\na\\\nb\nE\n", 0, [{"file": "f", "text": "ab\n"}]),
    (CAT, "cat > f <<'E' < g\na\nE\n", 0, None),
    (CAT, "cat > f <<< a", 0, None),
    (CAT, "cat > f < a", 0, None),
    (CAT, "cat > f", 0, None),
    (CAT, "cat - > f <<'E'\na\nE\n", 0, None),
    (CAT, "cat g > f <<'E'\na\nE\n", 0, None),
    (CAT, "cat >> f <<'E'\na\nE\n", 0, None),
    (CAT, "cat > f <<'E' && echo done\na\nE\n", 0, TEXT),
    (CAT, "cat > f <<'E' && rm f\na\nE\n", 0, None),
    (CAT, "cat > f <<'E'\nrm f\nE\n", 0, [{"file": "f", "text": "rm f\n"}]),
    (CAT, "echo x | cat > f <<'E'\na\nE\n", 0, TEXT),
]

ENDED: list[Row] = [
    ("mkdir {file} &&", "mkdir a", 0, files("a")),
    ("mkdir {file} &&", "mkdir a", 1, None),
    ("mkdir {file} &&", "mkdir a", None, None),
    ("mkdir {file} &&", "mkdir a; ls", 0, None),
    ("mkdir {file} &&", "mkdir a\nls", 0, None),
    ("mkdir {file} &&", "ls; mkdir a", 0, files("a")),
    ("mkdir {file} &&", "mkdir a || true", 0, None),
    ("mkdir {file} &&", "mkdir a && ls", 0, files("a")),
    ("mkdir {file} &&", "mkdir a && ls || true", 0, None),
    ("mkdir {file} &&", "mkdir a && ls; ls", 0, None),
    ("mkdir {file} &&", "mkdir a | cat", 0, None),
    ("mkdir {file} &&", "ls | mkdir a", 0, files("a")),
    ("mkdir {file} &&", "! mkdir a", 0, None),
    ("mkdir {file} &&", "mkdir a && ! ls", 0, None),
    ("mkdir {file} &&", "mkdir a &", 0, None),
    ("mkdir {file} &&", "set -e; mkdir a; ls", 0, None),  # a client may run the line where -e does not count
    ("mkdir {file} &&", "mkdir() { :; }; mkdir a", 0, None),
    ("mkdir {file} &&", "alias mkdir=true; mkdir a", 0, None),
    ("mkdir {file} &&", "trap 'exit 0' EXIT; mkdir a", 0, None),
    ("* > {file} &&", "echo a > f", 0, files("f")),
    ("* > {file} &&", "echo a > f; true", 0, None),
    ("tee [-a] {file...} &&", "ls | tee a b", 0, files("a", "b")),
    ("tee [-a] {file...} &&", "ls | tee -a a > /dev/null", 0, files("a")),
    ("tee [-a] {file...} &&", "ls | tee a | tail", 0, None),
    ("tee [-a] {file...}", "ls | tee a | tail", 0, files("a")),
    ("tee [-a] {file...}", "npm test 2>&1 | tee log | tail -3", 1, files("log")),
    ("tee [-a] {file...}", "git clean -fdx | tee log", 0, None),
    ("rm [-f] {file...}", "yes | rm -f ab", 0, files("ab")),
    ("rm [-f] {file...}", "cp cd ab | rm -f ab", 0, None),
    ("rm [-f] {file...}", "npm test | rm -f ab", 0, None),
    (PUSH, "npm test | git push", 0, None),
    ("tee [-a] {file...}", "make clean 2>&1 | tee log", 0, None),
    ("tee [-a] {file...}", "{ git clean -fdx; } | tee log", 0, None),
    ("tee [-a] {file...}", "git clean -fdx; ls | tee log", 0, files("log")),
    ("tee [-a] {file...}", "sh x.sh | tee log", 0, None),
    ("tee [-a] {file...}", "ls | tee log | rm log", 0, None),
    ("tee [-a] {file...}", "ls | tee >(cat) log", 0, None),
    ("tee [-a] {file...}", "ls | tee $X log", 0, None),
    ("tee [-a] {file...}", "ls | sudo tee log", 0, files("log")),
]


@pytest.mark.parametrize(
    ("pattern", "command", "exit_code", "expected"),
    CERTAIN + NOT_COMMANDS + DROPPED + PLACES + OPERANDS + LATER + WORDS_AFTER + OUTPUT + ENDED,
)
def test_runs(pattern: str, command: str, exit_code: int | None, expected: list[dict[str, str]] | None) -> None:
    """A pattern matches what was certainly run and is still so, with the operands that it captures."""
    assert check_pattern(pattern) is None
    assert runs(pattern, command, exit_code) == expected


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("*", "program"),
        ("{a} b", "program"),
        ("[-p] *", "program"),
        ("!x", "program"),
        ("git push; true", "';'"),
        ("echo $X", "'$'"),
        ("echo a > b", "whole word"),
        ("echo a | b", "'|'"),
        ("> {a}", "program"),
        ("* &&", "program"),
        ("&&", "program"),
        ("a && b", "last `&&`"),
        ("a > {b} c", "last `&&`"),
        ("a > {b...}", "one file"),
        ("a > {b} > {c}", "twice"),
        ("a << {b} << {c}", "twice"),
        ("a {b} > {b}", "twice"),
        ("a [-m={b}] {b}", "twice"),
        ("a [-mp=] b", "[-m=]"),
        ("a [-m={b...}] [-n={c...}]", "only one"),
        ("a [-m={b...}] {c...}", "single words"),
        ("a {b}={c}/{d}", "nothing captures"),
        ("a {b} {c}={b", "not closed"),
        ("a {b} {c}=b", "made of nothing"),
        ("touch 'a", "not closed"),
        ("touch {a", "whole word"),
        ("touch a}", "whole word"),
        ("touch x{a}", "whole word"),
        ("touch {}", "a name"),
        ("touch {1a}", "a name"),
        ("touch {a b}", "whole word"),
        ("mv {a} {a}", "twice"),
        ("cp {a...} {b...}", "only single words"),
        ("cp {a...} *", "only single words"),
        ("touch {directory}", "reserved"),
        ("touch [p] a", "[-pv]"),
        ("touch [-p a", "[-pv]"),
        ("touch [--x=1] a", "[-pv]"),
        ("sudo git push", "dropped"),
        ("env *", "dropped"),
    ],
)
def test_malformed_patterns_are_explained_and_match_nothing(pattern: str, part: str) -> None:
    """A pattern that cannot work is explained to its author, and never matches."""
    assert part in (check_pattern(pattern) or "")
    assert runs(pattern, pattern, 0) is None


@pytest.mark.parametrize(
    ("command", "moves"),
    [
        ("cd x", True),
        ("ls; cd x && make", True),
        ("(cd x && make)", True),
        ("if true; then pushd x; fi", True),
        ("popd", True),
        ("f() { cd x; }; f", True),
        ("echo $(cd x; pwd)", True),
        ("command cd x", True),
        ("builtin cd x", True),
        ("eval x", True),
        ("source x", True),
        (". x", True),
        ("$X", True),
        ("A=1 cd x", True),
        ("! cd x", True),
        ("echo 'unclosed", True),
        ("echo cd x", False),
        ("echo 'cd x'; ls", False),
        ("# cd x", False),
        ("cat <<E\ncd x\nE\n", False),
        ("git commit -m 'a\ncd x'", False),
        ("git -C x push", False),
        ("echo $(date)", False),
        ("", False),
    ],
)
def test_changes_directory(command: str, moves: bool) -> None:
    """Anything that may move the shell counts as a move; text that only mentions it does not."""
    assert changes_directory(command) is moves


def only(command: str) -> Simple:
    simples = simple_commands(command)
    assert simples is not None
    assert len(simples) == 1
    return simples[0]


def test_a_simple_command_has_its_parts() -> None:
    """Assignments, words and redirections are told apart, and what is not known is None."""
    simple = only("A=1 B=$X cmd 'a b' $Y 2>&1 >>log <in 3>$Z <<'E' <<<w {fd}>f\nbody $x\nE\n")
    assert simple.assignments == [("A", "1"), ("B", None)]
    assert simple.argv == ["cmd", "a b", None]
    assert simple.redirections == [
        ("2>&", "1"),
        (">>", "log"),
        ("<", "in"),
        ("3>", None),
        ("<<", "body $x\n"),
        ("<<<", "w"),
        ("{fd}>", "f"),
    ]


def test_a_document_with_expansions_is_not_known() -> None:
    """The text of a here-document is given only where the shell takes it as it is."""
    assert only("cat <<E\na $b\nE\n").redirections == [("<<", None)]
    assert only("cat <<E\na b\nE\n").redirections == [("<<", "a b\n")]
    assert only("cat <<-E\n\ta\n\tE\n").redirections == [("<<-", "a\n")]


def test_nested_commands_are_listed() -> None:
    """Commands inside other constructs are listed, in the order of their ends, as not certain."""
    simples = simple_commands("a $(b); if c; then (d); fi; e <(f) & g() { h; }; `i`; j")
    assert simples is not None
    names = [simple.argv[0] for simple in simples]
    assert names == ["b", "a", "c", "d", "f", "e", "h", None, None, "j"]
    assert [simple.certain for simple in simples] == ["no", "always", *["no"] * 8]
    assert [simple.detached for simple in simples].count(True) == 3


@pytest.mark.parametrize(
    "command",
    [
        "git push" + " x" * LIMIT,
        "a\0b",
        "a=(1 2)",
        "echo $[1+1]",
        "a[1 2]=x",
        "coproc x",
        "case x in a) b",
        "for x do",
        "fi",
        "a &; b",
        "a | | b",
        "( )",
        "cat <<E",
        "echo ${x@P}",
        "a; }",
        "f() x",
        "echo a(b)",
        "cat <<E 'x\n'\nE\n",
    ],
)
def test_what_is_not_certain_is_not_parsed(command: str) -> None:
    """A command that is wrong, too long or too unusual gives no answer at all, and matches nothing."""
    assert simple_commands(command) is None
    assert runs("git *", command, 0) is None
    assert changes_directory(command)


# What a random shell program is made of.
PIECES = [
    "git push", "a", "if", "then", "fi", "else", "elif", "while", "do", "done", "for x in a b", "case x in",
    "esac", "a)", "(b|c)", ";;", "{", "}", "(", ")", "&&", "||", "|", "&", ";", "\n", "!", "time",
    "[[ a == b ]]", "[[", "]]", "((1))", "$((1+2))", "$(ls)", "`ls`", "\"x $(y)\"", "'q'", ">f", "2>&1",
    "<<E\nx\nE\n", "# c\n", "f()", "function g", "\\\n", "${x:-y}", "<(z)", "X=1", "$'a\\n'", "in",
    "a{b.c}", "-p", "&>f", "<<<w", "until", "((", "$(", "\"", "'", "`", "\\", "${", "\t", "é", "~/a", "*",
    "\r",
]  # fmt: skip


def program(rng: random.Random, most: int) -> str:
    return "".join(rng.choice(PIECES) + rng.choice(("", " ")) for _ in range(rng.randint(1, most)))


def test_random_text_never_raises() -> None:
    """Whatever the agent sends, the answer is a list, or None."""
    rng = random.Random(20)
    for _ in range(5000):
        text = "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) for _ in range(30))
        for command in (program(rng, 12), text):
            simple_commands(command)
            changes_directory(command)
            runs("git [-p] !x {a} *", command, 0)
            runs("a *", command, 0)
            check_pattern(command)


DEEP = ["$(", '"$(', "(", "{ ", "if a; then ", "`", "${x:-", "((", "! ", "f() { ", "case x in a) ", "<<E ", "a & "]
LONG = ["a ", "a;", "a&&", "a|", "\\\n", "'a'", '"$x"', "a\n", "$((1)) ", "git push;", "mkdir a;", "a{", "{ a& }; "]


@pytest.mark.parametrize("piece", DEEP + LONG)
def test_time_grows_with_length_only(piece: str) -> None:
    """Deep nesting and long lines cost time in proportion, and no recursion."""
    command = (piece * (LIMIT // len(piece)))[:LIMIT]
    started = time.process_time()
    for text in (command, "mkdir b; " + command[: LIMIT - 10]):
        simple_commands(text)
        runs("mkdir {file...}", text, 0)
        runs("a* {b} *", text, 0)
    assert time.process_time() - started < 10


def test_many_operands_cost_no_square() -> None:
    """Thousands of operands against thousands of later words end as no match, soon."""
    words = " ".join(f"w{number}" for number in range(9000))
    started = time.process_time()
    assert runs("mkdir {file...}", f"mkdir {words}; rm {words}", 0) is None
    assert time.process_time() - started < 10
    assert len(runs("mkdir {file...}", f"mkdir {words}", 0) or []) == 9000


# -- the same, asked of bash itself -----------------------------------------------------------------------


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a program `m` that writes down its words; its second one is the exit code."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "m"
    tool.write_text(
        f"#!{sys.executable} -IS\nimport json, os, sys\n"
        "with open(os.environ['LOG'], 'a') as log: log.write(json.dumps(sys.argv) + '\\n')\n"
        "sys.exit(int(sys.argv[2]))\n"
    )
    tool.chmod(0o755)
    return folder


def ask_bash(command: str, tools: Path, work: Path) -> tuple[int, list[list[str]]]:
    work.mkdir()
    log = work / "log"
    log.touch()
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", command],
        cwd=work,
        env={"PATH": f"{tools}:{os.defpath}", "LOG": str(log), "HOME": "/home/x"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, [json.loads(line)[1:] for line in log.read_text().splitlines()]


WORDS = [
    "a b",
    "'a  b' \"c d\"",
    "a\\ b",
    r'"a\"b\\c\$d\e" "\a\n"',
    r"'it'\''s'",
    r"$'a\tb\'c\x41\101'",
    "a#b #c",
    "\"\" '' ''a\"\" x",
    "a=b --x=1 a+=b",
    "{a} a{b {b} {, {a.b}",
    "@{u} HEAD~1 HEAD^ x:y ./~ a~ -",
    '$ a$ "$" \'$x\' "a$"',
    r"\$x \`ls\` a\*b '*' " + '"?"',
    "\"a\nb\" 'c\nd'",
    '"$(cat <<\'E\'\nit\'s (a) "b" $c `d`\n\nE\n)"',
    "a\\\nb \\\n c",
    "! !a ] ]] , . : % @ + ^",
    'é "日本"',
    "if then fi in { }",
    '-- -x --y="z w"',
    "2 3>/dev/null 4 a>/dev/null b 2>&1 c",
]


@needs_bash
@pytest.mark.parametrize("words", WORDS)
def test_words_are_those_that_bash_gives(words: str, tools: Path, tmp_path: Path) -> None:
    """Where a word is known, it is the word that bash passes to the program."""
    command = f"m w 0 {words}"
    simples = simple_commands(command)
    assert simples is not None
    _, calls = ask_bash(command, tools, tmp_path / "work")
    assert [simples[-1].argv[1:]] == calls


STATEMENTS = [
    "true", "false", "exit 3", "exit", "exit 0", "set -e", "set -eu", "set +e", ": > /nonexistent/q", "X=1",
    "export Y=2", "return", "break", "shift", "! false", "time true", "[[ a == b ]]", "[ a = b ]", "((0))",
    "readonly Z=1", "Z=2", "trap 'exit 0' EXIT", "m() { true; }", "UID=3", "exec true", "exec 3>&1",
    "alias m=true", "unset X", "source /nonexistent/s", ". /dev/null", "eval exit", "f() { exit; }", "f",
    "$U", "command exit 4", "shopt -s failglob", "echo ${U:?}", "echo $((1/0))", "x=$((1/0))", "m x >&9",
]  # fmt: skip
TAILS = [
    "$U", "*.none", "${U:?no}", "$((1/0))", "`echo 1`", ">f", ">/nonexistent/f", "2>&1", "<missing", ">&7",
    "<<<w",
]  # fmt: skip
BLOCKS = [
    "if %s; then m b 0; fi", "for i in 1 2; do %s; done", "( %s )", "{ %s; }", "while false; do %s; done",
    "case x in x) %s;; esac", "echo \"$(%s)\"", "g() { %s; }", "cat <(%s)",
]  # fmt: skip


def random_line(rng: random.Random, count: list[int], depth: int = 0) -> str:
    parts = []
    for _ in range(rng.randint(1, 4)):
        drawn = rng.random()
        if drawn < 0.6 or depth > 1:
            count[0] += 1
            part = f"m c{count[0]} {rng.choice('0013')} {rng.choice((*[''] * 9, *TAILS))}"
        elif drawn < 0.8:
            part = rng.choice(STATEMENTS)
        else:
            part = rng.choice(BLOCKS) % random_line(rng, count, depth + 1)
        parts += [part, rng.choice((" && ", " || ", "; ", "\n", " | ", " & "))]
    return "".join(parts[:-1])


@needs_bash
@pytest.mark.parametrize("seed", range(12))
def test_what_is_certain_was_run_by_bash(seed: int, tools: Path, tmp_path: Path) -> None:
    """In random programs, every command called certain under the exit code was run by bash, and every one that is
    said to have ended well did end with 0."""
    rng = random.Random(seed)
    checked = 0
    for number in range(25):
        count = [0]
        line = random_line(rng, count)
        if simple_commands(line) is None:
            continue
        code, calls = ask_bash(line, tools, tmp_path / str(number))
        ran = {call[0] for call in calls}
        for index in range(1, count[0] + 1):
            if runs(f"m c{index} *", line, code) is not None:
                checked += 1
                assert f"c{index}" in ran, (line, code)
            if runs(f"m c{index} * &&", line, code) is not None:
                assert {call[1] for call in calls if call[0] == f"c{index}"} == {"0"}, (line, code)
    assert checked


@needs_bash
def test_bash_finds_no_error_in_what_is_parsed() -> None:
    """A line that bash refuses as a whole is never parsed: nothing in it was run."""
    rng = random.Random(5)
    assert BASH is not None
    for _ in range(400):
        line = program(rng, 7)
        if simple_commands(line) is not None:
            done = subprocess.run([BASH, "-n", "-c", "--", line], capture_output=True, check=False)
            assert done.returncode == 0, line
