"""`runs`: what a pattern captures: options, words after them, redirections, and how a command ended."""

from __future__ import annotations

import pytest
from support.shell_rows import PUSH, Row, files

from truecall_py.shell.runs import check_pattern, runs

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
    WORDS_AFTER + OUTPUT + ENDED,
)
def test_what_a_pattern_captures(pattern: str, command: str, exit_code: int | None, expected: list[dict[str, str]] | None) -> None:
    """A pattern matches what was certainly run and is still so, with the operands that it captures."""
    assert check_pattern(pattern) is None
    assert runs(pattern, command, exit_code) == expected
