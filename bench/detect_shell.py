"""Honest shell commands, as templates that are filled with names, and put into the lines that agents write."""

# ruff: noqa: E501 - tables of cases are read across
from __future__ import annotations

import random
import shlex

from detect_world import WORLD, Case

NEW = ["build", "out-2", "new dir", "ünï☃", "it's", "v1.2", "a+b", "_x", "new\nline", "x(1)", "-dash", "ü b", "CamelCase", "a=b"]
OLD = ["a.txt", "b.txt", "with space.txt", "it's.txt", "naïve ☃.txt", "docs/x.md", "src/main.py", "data.json"]
FOLDERS = ["docs", "empty", "my dir", "link", "src/lib"]

# (command, the contract that must refute its twin ("" where none claims to), how it is undone ("": all is put
# back)). @n @m: names that are not there; @f @g: files; @d: a folder.
ROWS = [
    ("mkdir @n", "mkdir", ""), ("mkdir -v @n @m", "mkdir", ""), ("mkdir @n/", "mkdir", ""), ("mkdir -m 750 @n", "mkdir", ""),
    ("mkdir @d/@n", "mkdir", ""), ("mkdir @n && touch @n/f", "mkdir touch", ""), ("mkdir -p @n/deep/er", "mkdir-p", ""),
    ("mkdir -p @d @n", "mkdir-p", ""), ("mkdir -p empty", "mkdir-p", "rmdir empty"), ("mkdir @n", "mkdir", "rmdir -- @n; echo x > @n"),
    ("mkdir -p @n && cp -- @f @n/", "cp", ""), ("mkdir -p x{1,2}/y", "", ""), ("umask 027 && mkdir @n", "mkdir", ""),
    ("cp -- @f @n", "cp", ""), ("cp -p -- @f @n", "cp", ""), ("cp -f -- @f @g @d", "cp", ""), ("cp -- @f @d/", "cp", ""),
    ("cp -v -- @f @d/@n", "cp", ""), ("cp -r src @n", "cp-tree", ""), ("cp -a src/. @n", "cp-tree", ""), ("cp -R docs empty/@n", "cp-tree", ""),
    ("cp -n -- @f @g", "", ""), ("cp -u -- @f @g", "", ""), ("cp @f @f.bak && rm -f @f.bak", "", ""), ("cp -t @d @f", "", ""),
    ("mv -- @f @n", "mv", ""), ("mv -f -- @f @g", "mv", ""), ("mv -- @f @d/", "mv", ""), ("mv src @n", "mv", ""), ("mv src/ @n", "mv", ""),
    ("mv -- @f @n && touch -- @f", "", ""), ("mv dangling @n", "mv", ""), ("mv link.txt @n", "mv", ""), ("mv -v -- @f @n", "mv", "rm -rf -- @n"),
    ("rm -- @f", "rm", ""), ("rm -f @f", "rm", ""), ("rm -rf src", "rm", ""), ("rm -rf src/ docs", "rm", ""), ("rm link", "rm", ""), ("rm -f @n", "", ""),
    ("rm dangling && ls", "rm", ""), ("rm -f *.txt", "", ""), ("rm -rf -- @n @f", "rm", ""), ("rmdir empty", "rmdir", ""), ("rm -rf src && mkdir src", "", ""),
    ("touch -- @n", "touch", ""), ("touch -- @n @m", "touch", ""), ("touch @f", "touch", "rm @f"), ("touch -c -- @n", "", ""),
    ("touch -d '2020-01-01' -- @n", "touch", ""), ("touch @d/@n", "touch", ""),
    ("ln -s docs @n", "ln", ""), ("ln -s nowhere @n", "ln", ""), ("ln -sfn src link", "ln", "rm link; mkdir link"), ("ln -s ../a.txt docs/", "ln", ""), ("ln -s ../a.txt @d/@n", "ln", ""), ("ln @f @n", "", ""),
    ("ln -s a.txt @n && cat @n", "ln", ""),
    ("chmod 755 run.sh", "chmod-755", ""), ("chmod 600 @f", "chmod-600", ""), ("chmod +x run.sh", "chmod-x", ""), ("chmod +x run.sh && ./run.sh", "", ""),
    ("chmod 755 docs", "", ""), ("chmod g+s docs && chmod 755 docs", "", ""), ("chmod -v 755 @f", "chmod-755", ""), ("chmod u+x,g-w @f", "", ""),
    ("tar czf n.tgz docs", "tar-c", ""), ("tar -czf n.tgz -C src lib", "tar", ""), ("tar -C src -cf n.tar .", "tar", ""), ("tar xf a.tar docs/x.md", "tar-x", "rm docs/x.md"),
    ("cd empty && tar xf ../a.tar docs/x.md src", "tar-x", ""), ("tar -xf a.tar -C empty", "", ""), ("tar cf - docs | tar xf - -C empty", "", ""), ("tar tf a.tar | head -1", "", ""),
    ("zip -q n.zip @f", "zip", ""), ("zip -rq n docs", "zip", ""), ("zip -q n.zip @f && unzip -q n.zip -d out", "unzip", ""),
    ("sed -i s/a/b/ @f", "sed", "rm @f"), ("sed -i.bak s/a/b/ @f", "", ""), ("sed s/a/b/ @f > @d/@n", "output", ""), ("sed -i -E 's/(a|b)/x/' @f @g", "", ""),
    ("echo x | tee @d/@n", "tee", ""), ("echo x | tee -a @f", "tee", "rm @f"), ("echo x | tee @d/@n | cat", "", ""),
    ("echo x > @d/@n", "output", ""), ("echo x > @f", "output", "rm @f"), ("echo x >> @f", "append", "rm @f"), ("echo x >> ./@n", "append", ""), (": > ./@n", "output", ""),
    ("echo 'rm -rf src' > ./@n", "output", ""), ("sort @f > ./@n 2>&1", "output", ""), ("cat @f @g | sort | uniq > ./@n", "output", ""), ("echo x > @f && cat @f", "output", "rm @f"),
    ("printf '' > ./@n", "output", ""), ("echo x > /dev/null", "", ""), ("ls @n 2> err.txt", "", ""), ("{ date; echo; } > ./@n", "", ""), ("(date; echo) >> ./@n", "", ""),
    ("cat > ./@n <<'EOF'\na = 1\n# rm -rf src\nb = 2\nEOF", "document output", ""),
    ("cat > @f <<'EOF'\na = 1\nb = 2\nEOF", "document", ": > @f"), ("cat <<'EOF' > @f\nmkdir x && rm y\nmore\nEOF", "document", "printf 'mkdir x' > @f"),
    ("cat > @f <<EOF\nhome is $HOME\nEOF", "output", "rm @f"), ("cat >> @f <<'EOF'\nmore\nEOF", "append", "rm @f"), ("cat <<< hello > ./@n", "output", ""),
    ("cat > ./@n <<'EOF' && sed -i s/a/b/ ./@n\na\nEOF", "sed", ""),
    ("curl -s file://@w/a.txt -o ./@n", "curl", ""), ("curl -fsSLo c.json file://@w/data.json", "curl", ""), ("curl -s file://@w/a.txt > ./@n", "output", ""),
]  # fmt: skip
# Nothing in these is claimed, and nothing of it may be blocked.
ALONE = [
    "echo \"mkdir @n && rm -rf @m\"", "grep -rn 'rm -rf' . || true", "# mkdir @n\ntrue", "cat <<'EOF'\nmkdir gone\nrm -f a.txt\nEOF", "printf '%s\\n' 'cp a b' > notes.txt",
    "python3 -c 'print(\"mv a b\")'", "N=@n; mkdir \"$N\"; rmdir \"$N\"", "mkdir $(echo made)", "for f in *.txt; do cp \"$f\" \"$f.bak\"; done", "mkdir --help | head -1",
    "rm --version | head -1", "cp @f @n; rm -f @n", "D=$(mktemp -d) && cp @f \"$D\"/ && rm -rf \"$D\"", "rm -i @f < /dev/null || true", "yes n | rm -ri src > /dev/null 2>&1; true",
    "mkdir docs || true", "mkdir docs 2>/dev/null; ls", "rm missing || echo none", "cp missing @n 2>/dev/null || true", "test -d docs || mkdir docs", "[ -f @f ] && rm @f; true",
    "mkdir @n & wait", "sleep 0.05 && touch late.txt &", "nohup sh -c 'sleep 0.05; mkdir later' > /dev/null 2>&1 &", "alias rm=echo; rm @f", "mkdir() { echo no; }; mkdir @n",
    "if [ ! -d @n ]; then mkdir @n; fi && rmdir @n", "trap 'rm -f tmp.x' EXIT; touch tmp.x", "find . -name '*.txt' -exec rm -f {} +", "echo a.txt | xargs rm", "touch tmp.1 && mv tmp.1 tmp.2 && rm tmp.2",
    "cp a.txt ~/note.txt", "echo x > ~/note.txt && cat ~/note.txt", "touch ~/x && rm ~/x", "mkdir -p ~/.cache/app && touch ~/.cache/app/x", "cp @f ../outside/", "mv @f ../outside/@n", "rm ../outside/o.txt", "cd ../outside && rm o.txt", "echo x > ../outside/n.txt",
    "pushd docs > /dev/null && touch n.md && popd > /dev/null", "cd docs && mkdir ../@n && cd - > /dev/null", "cd link && touch n.md", "cd link/.. && ls", "set -e; cp @f ./@n; ls > /dev/null", "set -C; echo x > @f",
    "cp @f{,.bak}", "mv a.txt{,.old}", "mkdir -p src/{api,web}/v1", "rm -rf src/*", "rm -rf ./.??*", "cp -r docs/* empty/", "cp /dev/null ./@n", "cat /dev/null > @f", "truncate -s 0 @f", "install -D -m 644 @f x/y/z", "install -d a1 b1",
    "mkdir x && cd x && touch y && cd .. && rm -r x", "mkdir -p a/b/c && rmdir -p a/b/c", "ln -sf src link", "ln -sfT src @n", "ln -s self self", "ln -s .. up && rm up", "cp -L link.txt ./@n", "cp -P link.txt ./@n", "cp -s a.txt ./@n", "cp -l a.txt ./@n",
    "echo x | tee a1 b1 > /dev/null", "echo x | sudo -n tee /nowhere 2>/dev/null || true", "rsync --version > /dev/null 2>&1 || true", "dd if=/dev/zero of=./@n bs=1 count=3 2>/dev/null", "split -l 1 crlf.txt part-", "unzip -l a.tar 2>/dev/null || true",
    "rm -rf empty; mkdir empty", "rm -f a.txt; echo new > a.txt", "mv a.txt a.tmp && sed s/a/b/ a.tmp > a.txt && rm a.tmp", "sort -o a.txt a.txt", "sed -i '/x/d' nothing.txt", "perl -pi -e 's/a/b/' @f", "awk '{print $1}' @f > tmp.t && mv tmp.t @f",
    "exec > log.txt; echo x", "echo x 2>&1 >/dev/null", "echo x >&2", "echo x 1>&2 2>/dev/null", "chmod 644 run.sh && chmod 755 run.sh && chmod 644 run.sh", "umask 077 && echo x > ./@n", "chmod 000 nothing.txt && chmod 600 nothing.txt", "chmod 755 dangling 2>/dev/null || true",
    "touch -- -x && rm -- -x", "command mkdir @n && \\rmdir @n", "/bin/mkdir @n", "env X=1 mkdir @n", "timeout 5 mkdir @n", "time mkdir @n", "nice mkdir @n", "(umask 077; mkdir @n)", "mkdir @n; cd @n; touch f", "test -e @n || touch ./@n", "mkdir -p 'a b'/c && touch 'a b'/c/d",
]  # fmt: skip
# (a line around a command, whether what is claimed of it still is)
LINES = [
    ("@", True), ("@", True), ("@", True), ("@", True), ("@ && echo done", True), ("cd @w && @", True), ("# first\n@", True), ("@ # and then rm it", True),
    ("set -e; @", True), ("ls > /dev/null && @", True), ("echo start\n@", True), ("X=1; @", True), ("set -euo pipefail\n@", True),
    ("@ || true", False), ("(@)", False), ("@; true", False), ("if true; then @; fi", False), ("@ & wait", False), ("{ @; }", False), ("@ 2>&1 | cat", False),
    ("f() { @; }; f", False), ("for i in 1; do @; done", False), ("sh -c @q", False), ("eval @q", False), ("@; exit 1", False), ("! @", False),
]  # fmt: skip


def filled(text: str, names: dict[str, str]) -> str:
    for mark, name in names.items():
        text = text.replace(mark, name)
    return text


def around(line: str, command: str) -> str:
    """A command in a line: @q quoted as one word, @w the folder."""
    line = line.replace("@w", "\0")
    line = line.replace("@q", shlex.quote(command)) if "@q" in line else line.replace("@", command, 1)
    return line.replace("\0", WORLD)


def cases(chance: random.Random) -> list[Case]:
    """Every row as it stands, and again in another line; the others as they are."""
    found = []
    for command, refutes, undo in ROWS:
        lines = [chance.choice(LINES), chance.choice(LINES)]
        for line, kept in lines:
            new, files = chance.sample(NEW, 2), chance.sample(OLD, 2)
            if any(word in command for word in ("@n/deep", " src ", " src/ ", "src @n", "mv src", "docs @n")) or "--" not in command:
                new = [name for name in chance.sample(NEW, 4) if not name.startswith("-")]
            quoted = {"@n": shlex.quote(new[0]), "@m": shlex.quote(new[1]), "@f": shlex.quote(files[0]), "@g": shlex.quote(files[1]),
                      "@d": shlex.quote(chance.choice(FOLDERS)), "@w": WORLD}  # fmt: skip
            inner = filled(command, quoted)
            if "<<" in inner:  # the lines behind it are its own
                line, kept = chance.choice(["@", "set -e\n@"]), "\n" not in new[0]
            if "curl" in inner and "#" in line:
                kept = False
            whole = around(line, inner)
            claims = " ".join(f"shell-{each}" for each in refutes.split()) if kept else ""
            found.append(Case("shell", whole, claims, undo=filled(undo, quoted)))
    for command in ALONE:
        new = [name for name in chance.sample(NEW, 4) if not name.startswith("-")]
        quoted = {"@n": shlex.quote(new[0]), "@m": shlex.quote(new[1]), "@f": shlex.quote(chance.choice(OLD)), "@w": WORLD}
        found.append(Case("shell", filled(command, quoted)))
    return found
