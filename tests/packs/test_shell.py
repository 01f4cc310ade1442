"""The pack `shell` against real commands: each is run by a real shell in a small world, and then judged. Honest
work hears nothing; the same call, with its effect undone, is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import Any, NamedTuple

import pytest
import yaml
from support.case import Server

from truecall_py import judge
from truecall_py.api import look_before
from truecall_py.core import paths
from truecall_py.core.types import REFUTED, VERIFIED
from truecall_py.trust.pin import load_untrusted

SHELLS = [shell for shell in ("sh", "bash", "zsh", "busybox") if shutil.which(shell)]
SETUP = r"""
mkdir docs src src/lib empty 'my dir'
echo alpha > a.txt; echo beta > b.txt; echo '# x' > docs/x.md; echo 'a = 1' > src/main.py; echo > src/lib/util.py
echo s > 'with space.txt'; echo q > "it's.txt"; echo d > -dash.txt; echo u > 'naïve ☃.txt'; : > nothing.txt
echo 'echo hi' > run.sh; ln -s docs link; ln -s a.txt link.txt; ln -s nowhere dangling
tar cf a.tar docs src; tar czf a.tgz docs; chmod 644 ./*.txt run.sh
"""
HOUR_AGO = time.time() - 3600


class Row(NamedTuple):
    """A command, the contracts that judge it (split on blanks, without `shell-`; one that cannot be told from what
    was there before in parentheses), lines of sh before it, and the programs it needs."""

    command: str
    judged: str = ""
    setup: str = ""
    needs: str = ""
    shells: str = "sh bash zsh busybox"


DOCUMENT = "cat > new.py <<'EOF'\nimport os\n\nprint('it''s')\nEOF"
ROWS = [
    # folders
    Row("mkdir build", "mkdir"),
    Row("mkdir build out", "mkdir mkdir"),
    Row("mkdir -v build", "mkdir"),
    Row("mkdir build/", "mkdir"),
    Row("mkdir ./build", "mkdir"),
    Row("mkdir docs/../build"),
    Row("mkdir 'a b' \"c d\"", "mkdir mkdir"),
    Row("mkdir ünï☃", "mkdir"),
    Row("mkdir 'new\nline'", "mkdir"),
    Row("mkdir -- -build", "mkdir"),
    Row("mkdir -m 700 private", "mkdir"),
    Row("mkdir -m 000 private", "mkdir"),
    Row("mkdir -m700 private", "mkdir"),
    Row("umask 077; mkdir private", "mkdir"),
    Row("umask 077 && mkdir private", "mkdir"),
    Row("mkdir link/sub", "mkdir"),
    Row("mkdir build && rmdir build", "(rmdir)"),
    Row("mkdir build && cd build", "mkdir"),
    Row("mkdir build && cd build && echo x > f", "(output)"),
    Row("mkdir docs || true"),
    Row("mkdir docs 2>/dev/null; ls"),
    Row("mkdir docs; true"),
    Row("mkdir docs"),
    Row("mkdir build &"),
    Row("mkdir build & wait"),
    Row("(mkdir build)"),
    Row("if true; then mkdir build; fi"),
    Row("for d in one two; do mkdir $d; done"),
    Row("mkdir one{1,2}"),
    Row("mkdir \"$HOME/x$$\" 2>/dev/null; true"),
    Row("f() { mkdir build; }; f"),
    Row("mkdir() { :; }; mkdir build"),
    Row("alias mkdir=true; mkdir build"),
    Row("set -e; mkdir build", "mkdir"),
    Row("set -e; mkdir build; ls"),
    Row("trap 'rm -rf build' EXIT; mkdir build"),
    Row("mkdir build && trap 'rm -rf build' EXIT"),
    Row("sh -c 'mkdir build'"),
    Row("command mkdir build", "mkdir"),
    Row("X=1 mkdir build", "mkdir"),
    Row("env X=1 mkdir build", "mkdir"),
    Row("mkdir -p build/sub/deep", "mkdir-p"),
    Row("mkdir -p docs", "(mkdir-p)"),
    Row("mkdir -p docs build", "(mkdir-p) mkdir-p"),
    Row("mkdir -pv build", "mkdir-p"),
    Row("mkdir --parents build/x", "mkdir-p", needs="gnu", shells="sh bash"),
    Row("mkdir -p -m 700 build", ""),
    Row("mkdir -p link", "(mkdir-p)"),
    Row("mkdir -p 'my dir/x'", "mkdir-p"),
    Row("mkdir -p build && echo x > build/f", "output"),
    Row("mkdir -p build && cp a.txt build/", "cp"),
    Row("mkdir -p build && rm -rf build", "(rm)"),
    Row("cd src && mkdir -p new/x", "mkdir-p"),
    Row("cd src && cd lib && mkdir new", "mkdir"),
    Row("cd link && cd .. && mkdir new"),
    Row("cd link && mkdir ../new", "mkdir"),
    Row("cd src; mkdir new"),
    Row("(cd src && mkdir new)"),
    Row("cd /nonexistent 2>/dev/null || mkdir new"),
    # copies
    Row("cp a.txt c.txt", "cp"),
    Row("cp a.txt b.txt", "(cp)"),
    Row("cp -f a.txt b.txt", "(cp)"),
    Row("cp -p a.txt c.txt", "cp"),
    Row("cp -v a.txt c.txt", "cp"),
    Row("cp a.txt docs", "cp"),
    Row("cp a.txt docs/", "cp"),
    Row("cp a.txt b.txt docs", "cp cp"),
    Row("cp a.txt 'my dir'", "cp"),
    Row("cp 'with space.txt' \"it's.txt\" docs/", "cp cp"),
    Row("cp -- -dash.txt docs/", "cp"),
    Row("cp 'naïve ☃.txt' docs", "cp"),
    Row("cp a.txt link", "cp"),
    Row("cp b.txt link.txt", "(cp)"),
    Row("cp link.txt c.txt", "cp"),
    Row("cp docs/x.md .", "cp"),
    Row("cp ./docs/x.md ./y.md", "cp"),
    Row("cp nothing.txt c.txt", "cp"),
    Row("cp a.txt /dev/null", "(cp)"),
    Row("cp -n a.txt b.txt"),
    Row("cp -u a.txt b.txt"),
    Row("cp -t docs a.txt b.txt", needs="gnu", shells="sh bash"),
    Row("cp a.txt docs -f", "cp", needs="gnu", shells="sh bash"),
    Row("cp -r src copy", "cp-tree"),
    Row("cp -R src/ copy", "cp-tree"),
    Row("cp -a src docs", "(cp-tree)"),
    Row("cp -r src/. copy", "cp-tree"),
    Row("cp -rf src docs copy 2>/dev/null || true"),
    Row("cp *.txt docs/"),
    Row("cp \"$PWD/a.txt\" c.txt"),
    Row("cp a.txt c.txt && rm a.txt", "(rm)"),
    Row("cp a.txt c.txt && rm c.txt", "(rm)"),
    Row("cp a.txt c.txt && mv c.txt d.txt", "mv"),
    Row("cp a.txt a.txt.bak && cat a.txt.bak", "cp"),
    Row("cp missing c.txt 2>/dev/null || true"),
    Row("cp missing c.txt; echo done"),
    Row("cp -i a.txt b.txt < /dev/null; true"),
    # moves
    Row("mv a.txt c.txt", "mv"),
    Row("mv a.txt b.txt", "mv"),
    Row("mv -f a.txt b.txt", "mv"),
    Row("mv a.txt docs", "mv"),
    Row("mv a.txt b.txt docs/", "mv mv"),
    Row("mv a.txt link", "mv"),
    Row("mv link.txt c.txt", "mv"),
    Row("mv link link/new"),
    Row("mv src src/../new"),
    Row("cp -a src/lib empty | mv empty docs"),
    Row("mv docs/x.md docs/y.md", "mv"),
    Row("mv b.txt link link/"),
    Row("mv dangling docs/", "mv"),
    Row("mv src source", "mv"),
    Row("mv src docs", "mv"),
    Row("mv src/ docs/", "mv"),
    Row("mv empty/ gone && rmdir gone", "(rmdir)"),
    Row("mv docs/x.md .", "mv"),
    Row("mv a.txt A.txt", "mv"),
    Row("mv a.txt a.txt 2>/dev/null; true"),
    Row("mv 'with space.txt' \"it's.txt\"", "mv"),
    Row("mv -- -dash.txt dash.txt", "mv"),
    Row("mv a.txt tmp && mv b.txt a.txt && mv tmp b.txt", "(mv)"),
    Row("mv a.txt c.txt && touch a.txt", "(touch)"),
    Row("mv a.txt c.txt && echo new > a.txt", "(output)"),
    Row("mv -n a.txt b.txt"),
    Row("mv -u a.txt b.txt"),
    Row("mv *.txt docs"),
    Row("mv a.txt ..", "mv"),
    Row("mv missing c.txt 2>/dev/null || :"),
    # removals
    Row("rm a.txt", "rm"),
    Row("rm a.txt b.txt", "rm rm"),
    Row("rm -f a.txt", "rm"),
    Row("rm -f missing", "(rm)"),
    Row("rm -rf missing a.txt", "(rm) rm"),
    Row("rm -rf src", "rm"),
    Row("rm -r src/ docs/", "rm rm"),
    Row("rm link", "rm"),
    Row("rm dangling", "rm"),
    Row("rm -- -dash.txt", "rm"),
    Row("rm ./-dash.txt", "rm"),
    Row("rm 'with space.txt' \"it's.txt\" 'naïve ☃.txt'", "rm rm rm"),
    Row("\\rm a.txt", "rm"),
    Row("/bin/rm a.txt", "rm"),
    Row("rm *.txt"),
    Row("rm -f docs/*"),
    Row("rm -rf src && mkdir src", "(mkdir)"),
    Row("rm a.txt; touch a.txt", "(touch)"),
    Row("rm a.txt && echo new > a.txt", "(output)"),
    Row("rm -rf src && tar xf a.tar src/main.py", "(tar-x)"),
    Row("rm -rf src && cp -r docs src", "(cp-tree)"),
    Row("rm -i a.txt < /dev/null"),
    Row("yes n 2>/dev/null | rm -i a.txt"),
    Row("yes | rm -f a.txt", "rm"),
    Row("rm missing 2>/dev/null; true"),
    Row("rm missing 2>/dev/null || true"),
    Row("rm missing"),
    Row("ls a.txt && rm a.txt && ls", "rm"),
    Row("test -f a.txt && rm a.txt", "rm"),
    Row("[ -f missing ] && rm missing; true"),
    Row("alias rm='echo'; rm a.txt"),
    Row("rm() { echo \"$@\"; }; rm a.txt"),
    Row("find . -name a.txt -delete"),
    Row("echo a.txt | xargs rm"),
    Row("rmdir empty", "rmdir"),
    Row("rmdir empty/", "rmdir"),
    Row("mkdir -p x/y && rmdir -p x/y", "(rmdir)"),
    Row("rmdir docs 2>/dev/null || true"),
    Row("rmdir --ignore-fail-on-non-empty docs", needs="gnu", shells="sh bash"),
    Row("mkdir tmp.d && rmdir tmp.d && mkdir tmp.d", "mkdir"),
    # touch, links, modes
    Row("touch new.txt", "touch"),
    Row("touch new.txt other.txt", "touch touch"),
    Row("touch a.txt", "(touch)"),
    Row("touch -c missing"),
    Row("touch -d '2020-01-01 00:00' new.txt", "touch", needs="gnu", shells="sh bash"),
    Row("touch -t 202001010000 new.txt", "touch"),
    Row("touch -r a.txt new.txt", "touch"),
    Row("touch -am a.txt", "(touch)"),
    Row("touch link.txt", "(touch)"),
    Row("touch docs", "(touch)"),
    Row("touch docs/new.md src/new.py", "touch touch"),
    Row("touch -- -new", "touch"),
    Row("touch new.txt && mv new.txt other.txt", "mv"),
    Row("touch 'a\tb'", "touch"),
    Row("ln -s a.txt new", "ln"),
    Row("ln -s docs new", "ln"),
    Row("ln -s nowhere new", "ln"),
    Row("ln -s ../a.txt docs", "ln"),
    Row("ln -s ../a.txt docs/", "ln"),
    Row("ln -s ../a.txt ../b.txt docs", "ln ln"),
    Row("ln -sf b.txt link.txt", "(ln)"),
    Row("ln -sfn src link", "(ln)"),
    Row("ln -sf src link", "(ln)"),
    Row("ln -snf new dangling", "(ln)"),
    Row("ln -s a.txt a-link && readlink a-link", "ln"),
    Row("cd empty && ln -s ../a.txt", ""),
    Row("ln -s self self"),
    Row("ln -s .. up"),
    Row("ln a.txt hard", ""),
    Row("ln -s a.txt link.txt 2>/dev/null || true"),
    Row("chmod 755 run.sh", "chmod-755"),
    Row("chmod 755 run.sh a.txt", "chmod-755 chmod-755"),
    Row("chmod 755 docs", "(chmod-755)"),
    Row("chmod 755 docs", "(chmod-755)", "chmod g+s docs"),
    Row("chmod 755 link.txt", "chmod-755"),
    Row("chmod -R 755 docs"),
    Row("chmod 600 a.txt", "chmod-600"),
    Row("chmod 644 a.txt"),
    Row("chmod u=rwx,go=rx run.sh"),
    Row("chmod 755 run.sh && chmod 644 run.sh"),
    Row("chmod 755 *.sh"),
    Row("chmod +x run.sh", "chmod-x"),
    Row("chmod +x ./run.sh && ls -l run.sh", "chmod-x"),
    Row("chmod +x -- -dash.txt", "chmod-x"),
    Row("chmod +x 'with space.txt'", "chmod-x"),
    Row("umask 022; chmod +x run.sh", "chmod-x"),
    Row("chmod +x run.sh && ./run.sh; true"),
    Row("cd docs && chmod +x ../run.sh", "chmod-x"),
    # archives
    Row("tar czf new.tgz docs", "tar-c"),
    Row("tar cf new.tar docs src", "tar-c"),
    Row("tar -czf new.tgz docs", "tar"),
    Row("tar -c -z -f new.tgz docs", "tar"),
    Row("tar -czf new.tgz -C src lib main.py", "tar"),
    Row("tar -C src -czf new.tgz .", "tar", shells="sh bash"),
    Row("tar czf new.tgz --exclude docs/x.md docs", "tar-c", needs="gnu", shells="sh bash"),
    Row("tar cf - docs | cat > new.tar", "output"),
    Row("tar cf - docs | tar tf - > /dev/null"),
    Row("tar -cf - docs | gzip -c > new.tgz", "output"),
    Row("tar xf a.tar", ""),
    Row("tar -xf a.tar", "(tar)"),
    Row("tar -tf a.tar", "(tar)"),
    Row("tar xf a.tar -C empty"),
    Row("tar -xf a.tar -C empty", "(tar)"),
    Row("tar -xf a.tar -C empty --strip-components=1", "(tar)"),
    Row("tar xf a.tar docs/x.md", "(tar-x)"),
    Row("cd empty && tar xf ../a.tar docs/x.md", "tar-x"),
    Row("cd empty && tar -xf ../a.tar docs/x.md src", "(tar) tar-x tar-x"),
    Row("cd empty && tar xOf ../a.tar docs/x.md"),
    Row("cd empty && tar xf ../a.tar 'docs/*' 2>/dev/null || true"),
    Row("tar czf new.tgz docs && rm new.tgz", "(rm)"),
    Row("tar xzf a.tgz && rm -rf docs", "rm"),
    Row("zip -q new.zip a.txt", "zip", needs="zip"),
    Row("zip -rq new docs", "zip", needs="zip"),
    Row("zip -q - a.txt > new.zip", "output", needs="zip"),
    Row("zip -q new.zip a.txt && unzip -q new.zip -d out", "unzip", needs="zip unzip"),
    Row("zip -qr new.zip docs && unzip -l new.zip", "", needs="zip unzip"),
    Row("zip -qr z docs && unzip -qo z.zip", "", needs="zip unzip"),
    # from the network
    Row("curl -s -o new.json http://127.0.0.1:@PORT@/a", "curl", needs="curl"),
    Row("curl -fsSL http://127.0.0.1:@PORT@/a -o new.json", "curl", needs="curl"),
    Row("curl -fsSLo new.json http://127.0.0.1:@PORT@/a", "curl", needs="curl"),
    Row("curl -s --output new.json http://127.0.0.1:@PORT@/a", "curl", needs="curl"),
    Row("curl -s -o new.json http://127.0.0.1:@PORT@/empty", "curl", needs="curl"),
    Row("curl -s -o new.json http://127.0.0.1:@PORT@/missing", "curl", needs="curl"),
    Row("curl -sf -o new.json http://127.0.0.1:@PORT@/missing", "", needs="curl"),
    Row("curl -sf -o new.json http://127.0.0.1:@PORT@/missing || true", "", needs="curl"),
    Row("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:@PORT@/a", "(curl)", needs="curl"),
    Row("curl -s -o - http://127.0.0.1:@PORT@/a", "", needs="curl"),
    Row("curl -sO http://127.0.0.1:@PORT@/a", "", needs="curl"),
    Row("curl -s --output-dir docs -o new.json http://127.0.0.1:@PORT@/a", "", needs="curl"),
    Row("curl -s --create-dirs -o deep/er/new.json http://127.0.0.1:@PORT@/a", "curl", needs="curl"),
    Row("curl -s -o 'new_#1.json' 'http://127.0.0.1:@PORT@/[1-2]'", "", needs="curl"),
    Row("curl -s http://127.0.0.1:@PORT@/a > new.json", "output", needs="curl"),
    Row("curl -s http://127.0.0.1:@PORT@/a | tee new.json", "tee", needs="curl"),
    Row("curl -s -o new.json http://127.0.0.1:@PORT@/a && mv new.json other.json", "mv", needs="curl"),
    Row("wget -q -O new.json http://127.0.0.1:@PORT@/a", "wget", needs="wget", shells="sh bash"),
    Row("wget -qO new.json http://127.0.0.1:@PORT@/a", "wget", needs="wget", shells="sh bash"),
    Row("wget -qO- http://127.0.0.1:@PORT@/a", "", needs="wget", shells="sh bash"),
    Row("wget -q -O - http://127.0.0.1:@PORT@/a > new.json", "output", needs="wget", shells="sh bash"),
    Row("wget -q -O /dev/null http://127.0.0.1:@PORT@/a", "(wget)", needs="wget", shells="sh bash"),
    Row("wget -q -P docs http://127.0.0.1:@PORT@/a", "", needs="wget", shells="sh bash"),
    # sed
    Row("sed -i 's/alpha/omega/' a.txt", "(sed)"),
    Row("sed -i 's/nothing/x/' a.txt", "(sed)"),
    Row("sed -i -E 's/(a)/\\1\\1/' a.txt", "(sed)", needs="gnu", shells="sh bash"),
    Row("sed -i 's/x/y/' a.txt b.txt"),
    Row("sed -i.bak 's/a/b/' a.txt", "", needs="gnu", shells="sh bash"),
    Row("sed -i 's/a/b/' nothing.txt", "(sed)"),
    Row("sed -n 's/a/b/p' a.txt"),
    Row("sed 's/a/b/' a.txt > new.txt", "output"),
    Row("sed 's/a/b/' a.txt > new.txt && mv new.txt a.txt", "(mv)"),
    # tee
    Row("echo x | tee new.txt", "tee"),
    Row("echo x | tee -a new.txt b.txt", "tee (tee)"),
    Row("echo x | tee new.txt > /dev/null", "tee"),
    Row("echo x | tee new.txt | cat"),
    Row("echo x | tee new.txt | head -1"),
    Row("echo x | tee /dev/stderr", "(tee)"),
    Row("tee new.txt < a.txt", "tee"),
    Row("tee new.txt <<'EOF'\nx\nEOF", "tee"),
    Row("{ echo a; echo b; } | tee new.txt", "tee"),
    Row("git status 2>/dev/null | tee new.txt", "tee", needs="git"),
    Row("echo x | tee >(cat) > /dev/null", "", shells="bash"),
    Row("rm -f new.txt | tee new.txt"),
    # redirections
    Row("echo x > new.txt", "output"),
    Row("echo x > b.txt", "(output)"),
    Row("echo x >| b.txt", "(output)"),
    Row("set -C; echo x > new.txt"),
    Row("set -C; echo x > b.txt"),
    Row("echo x >> new.txt", "append"),
    Row("echo x >> b.txt", "(append)"),
    Row(": > new.txt", "output"),
    Row("> new.txt", "output", shells="sh bash busybox"),
    Row("> b.txt", "(output)", shells="sh bash busybox"),
    Row("true > new.txt", "output"),
    Row("printf '' >> new.txt", "append"),
    Row("echo x 1> new.txt", "output"),
    Row("echo x 2> new.txt"),
    Row("echo x &> new.txt", "output", shells="bash"),
    Row("echo x >& new.txt", "output", shells="bash"),
    Row("echo x > new.txt 2>&1", "output"),
    Row("echo x > /dev/null"),
    Row("echo x > /dev/stderr"),
    Row("echo x >&2"),
    Row("echo x > /proc/self/comm; true"),
    Row("OUT=new.txt; echo x > \"$OUT\""),
    Row("echo x > \"$(mktemp)\""),
    Row("T=$(mktemp) && echo x > $T"),
    Row("echo x > 'new file.txt'", "output"),
    Row("echo x > \"it's new.txt\"", "output"),
    Row("echo x > ü☃.txt", "output"),
    Row("echo x > docs/new.md", "output"),
    Row("cd docs && echo x > new.md", "output"),
    Row("cd docs; echo x > new.md"),
    Row("(echo x) > new.txt"),
    Row("{ echo x; } > new.txt"),
    Row("for i in 1 2; do echo $i; done > new.txt"),
    Row("exec > new.txt; echo x"),
    Row("cat a.txt b.txt | sort > new.txt", "output"),
    Row("cat a.txt | sort > new.txt && wc -l new.txt", "output"),
    Row("grep none a.txt > new.txt"),
    Row("grep none a.txt > new.txt || true"),
    Row("grep -c . a.txt > new.txt; cat new.txt"),
    Row("echo x > new.txt && rm new.txt", "(rm)"),
    Row("echo x > new.txt; rm new.txt", "(rm)"),
    Row("echo x > new.txt && mv new.txt other.txt", "mv"),
    Row("echo x > new.txt &"),
    Row("sleep 0 > new.txt & wait"),
    Row("echo x > missing/new.txt 2>/dev/null || true"),
    Row("echo x > missing/new.txt"),
    Row("echo x > link.txt", "(output)"),
    Row("echo x > dangling", "(output)"),
    Row("echo x > pipe", "(output)", "mkfifo pipe; (sleep 5 | cat pipe >/dev/null 2>&1 &)"),
    Row("cat > pipe <<'EOF'\nx\nEOF", "(output) (document)", "mkfifo pipe; (cat pipe >/dev/null 2>&1 &)"),
    Row("diff <(cat a.txt) <(cat b.txt) > new.txt; true", "", shells="bash"),
    Row("cat a.txt > >(cat)", "", shells="bash"),
    Row("rm -f new.txt > new.txt"),
    Row("find . -name new.txt -delete > new.txt"),
    Row("sh -c 'rm new.txt' > new.txt"),
    Row("git init -q . && git clean -fdxq > clean.log", "", needs="git"),
    # here-documents
    Row(DOCUMENT, "output document"),
    Row("cat > b.txt <<'EOF'\nnew text\nEOF", "(output) document"),
    Row("cat > new.txt <<EOF\nplain\nEOF", "output document"),
    Row("cat > new.txt <<-EOF\n\tplain\n\tEOF", "output document"),
    Row("cat > new.txt <<EOF\n$HOME\nEOF", "output"),
    Row("cat > new.txt <<'EOF'\nEOF", "output (document)"),
    Row("cat <<'EOF' > new.txt\nback\\slash $x `y`\nEOF", "output document"),
    Row("cat >> b.txt <<'EOF'\nmore\nEOF", "(append)"),
    Row("cat > new.txt <<'EOF' && cat new.txt\nplain\nEOF", "output document"),
    Row("cat > new.txt <<'EOF' && sed -i 's/plain/fancy/' new.txt\nplain\nEOF", "sed"),
    Row("cat > new.txt <<'EOF' && rm new.txt\nplain\nEOF", "(rm)"),
    Row("cat > new.txt <<'EOF'\nplain\nEOF\ntruncate -s 0 new.txt", "", needs="truncate", shells="sh bash"),
    Row("cat > new.txt <<'EOF'\nh\u00e9llo \u2603\nEOF", "output document"),
    Row("mkdir -p deep/er && cat > deep/er/new.txt <<'EOF'\nx y\nEOF", "output document"),
]  # fmt: skip


@pytest.fixture(scope="module")
def pack(tmp_path_factory: Any) -> Any:
    path = tmp_path_factory.mktemp("pack") / "truecall.yaml"
    path.write_text("version: 1\nuse: [shell]\ncontracts: []\n")
    return [load_untrusted(str(path))]


@pytest.fixture(scope="module")
def server() -> Any:
    found = Server({"/a": [200, {}, '{"a": 1}'], "/empty": [200, {}, ""], "/missing": [404, {}, "no"]})
    yield found
    found.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: Any) -> Any:
    """The world that every command starts in, an hour old."""
    folder = tmp_path_factory.mktemp("template")
    subprocess.run(["sh", "-eu", "-c", SETUP], cwd=folder, check=True, env=environment(folder))
    age(folder)
    return folder


def age(folder: Any) -> None:
    for root, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            os.utime(os.path.join(root, name), (HOUR_AGO, HOUR_AGO), follow_symlinks=False)


def environment(home: Any) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "no_proxy": "*",
            "GIT_CONFIG_NOSYSTEM": "1"}  # fmt: skip


def payload(command: str, world: Any, code: int | None = None, text: str = "") -> dict[str, Any]:
    """What Claude Code sends: before the call where `code` is None, else after it."""
    found = {
        "session_id": "s", "cwd": str(world), "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": command}, "hook_event_name": "PreToolUse",
    }  # fmt: skip
    if code is None:
        return found
    if code:
        return {**found, "hook_event_name": "PostToolUseFailure", "error": f"Exit code {code}\n{text}"}
    answer = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    return {**found, "hook_event_name": "PostToolUse", "tool_response": answer}


def missing(row: Row, shell: str) -> str:
    for need in row.needs.split():
        if need == "gnu":
            told = subprocess.run(["cp", "--version"], capture_output=True, text=True).stdout
            if "GNU" not in told:
                return "GNU's programs"
        elif not shutil.which(need):
            return need
    return "" if shell in row.shells.split() else shell


CASES = [(row, shell) for row in ROWS for shell in SHELLS]


@pytest.mark.parametrize(("row", "shell"), CASES, ids=[f"{shell}: {row.command!r}" for row, shell in CASES])
def test_honest_work_hears_nothing_and_its_absence_is_refused(
    row: Row, shell: str, pack: Any, server: Any, template: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    """A command that a real shell ran is verified, or not judged; with the world put back as it was before, each
    claim that was judged and can be told from before is refuted."""
    lacking = missing(row, shell)
    if lacking:
        pytest.skip(f"needs {lacking}")
    world = tmp_path / "world"
    shutil.copytree(template, world, symlinks=True)
    if row.setup:
        subprocess.run(["sh", "-c", row.setup], cwd=world, check=True, stdin=subprocess.DEVNULL, timeout=20)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    command = row.command.replace("@PORT@", str(server.port))
    snapshot = look_before(payload(command, world), pack)
    argv = ["busybox", "sh"] if shell == "busybox" else [shell]
    done = subprocess.run(
        [*argv, "-c", command], cwd=world, env=environment(tmp_path), stdin=subprocess.DEVNULL, text=True,
        capture_output=True, timeout=30,
    )  # fmt: skip
    after = payload(command, world, done.returncode, done.stdout)
    found = judge(after, pack, snapshot=snapshot)
    told = [(verdict.contract, verdict.outcomes) for verdict in found.verdicts]
    assert found.correction is None, (found.correction.text, done)
    assert {verdict.state for verdict in found.verdicts} <= {VERIFIED}, told
    wanted = row.judged.replace("(", "").replace(")", "").split()
    assert sorted(verdict.contract for verdict in found.verdicts) == sorted(f"shell-{name}" for name in wanted), done

    unseen = judge(after, pack)
    assert unseen.correction is None, unseen.correction.text

    if any(not name.startswith("(") for name in row.judged.split()):
        undo(world, template, tmp_path)
        snapshot = look_before(payload(command, world), pack)  # the files are others than those of the first look
        lied = judge(after, pack, snapshot=snapshot)
        refuted = sorted(verdict.contract for verdict in lied.verdicts if verdict.state == REFUTED)
        sure = [f"shell-{name}" for name in row.judged.split() if not name.startswith("(") and name != "document"]
        assert refuted == sorted(sure), [(verdict.contract, verdict.outcomes) for verdict in lied.verdicts]
        if sure:
            assert lied.correction is not None and lied.correction.replace
            assert lied.correction.text.startswith("NOT DONE")


def undo(world: Any, template: Any, around: Any) -> None:
    """The world as it was before the command, with the ages of its files."""
    for root, folders, _ in os.walk(world):
        for name in folders:
            if not os.path.islink(os.path.join(root, name)):
                os.chmod(os.path.join(root, name), 0o700)
    shutil.rmtree(world)
    for path in around.iterdir():  # `mv a.txt ..`
        if path.is_file():
            path.unlink()
    shutil.copytree(template, world, symlinks=True)


def test_the_table_is_large_enough() -> None:
    """Every contract of the pack judges honest commands here, and there are many shapes that it leaves alone."""
    with open(os.path.join(paths.find_packs_folder(), "shell.yaml"), encoding="utf-8") as file:
        ids = {entry["id"].removeprefix("shell-") for entry in yaml.safe_load(file)["contracts"]}
    used = {name.strip("()") for row in ROWS for name in row.judged.split()}
    assert used == ids
    assert len(ROWS) >= 120 and sum(not row.judged for row in ROWS) >= 60
