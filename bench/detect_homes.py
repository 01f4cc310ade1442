"""The homes that `detect` copies for its calls: plain files, a repository with its remote, and projects of Python and
node. Made from local things alone."""
# ruff: noqa: E501 - lines of sh are read across

from __future__ import annotations

import os
import subprocess
import sys
import zipfile


def environment(home: str) -> dict[str, str]:
    return {
        "PATH": f"{home}/bin:{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "HOME": home, "no_proxy": "*",
        "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1", "PIP_NO_INDEX": "1", "NO_COLOR": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": home,
        "npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false",
        "npm_config_update_notifier": "false", "npm_config_cache": f"{home}/.npm",
    }  # fmt: skip


def shell(lines: str, folder: str, home: str) -> None:
    done = subprocess.run(["bash", "-e", "-c", lines], cwd=folder, env=environment(home), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    if done.returncode:
        raise SystemExit(f"a world cannot be built: {lines!r}: {done.stderr}")


GITCONFIG = """\
[user]
name = a
email = a@b.invalid
[init]
defaultBranch = main
[advice]
detachedHead = false
[protocol "file"]
allow = always
"""
PLAIN = r"""
mkdir docs src src/lib empty 'my dir' bin ../outside; echo out > ../outside/o.txt
echo alpha > a.txt; echo beta > b.txt; echo '# x' > docs/x.md; echo 'a = 1' > src/main.py; echo > src/lib/util.py
echo s > 'with space.txt'; echo q > "it's.txt"; echo u > 'naïve ☃.txt'; : > nothing.txt; printf 'x\r\ny\r\n' > crlf.txt
echo 'echo hi' > run.sh; ln -s docs link; ln -s a.txt link.txt; ln -s nowhere dangling; echo '{"a": 1}' > data.json
tar cf a.tar docs src; tar czf a.tgz docs; chmod 644 ./*.txt run.sh
"""
REPOSITORY = r"""
git init -q; git init -q --bare ../origin.git; git remote add origin ../origin.git
mkdir src docs; echo one > a.txt; echo 'a = 1' > src/main.py; echo '# x' > docs/x.md; echo b > 'with space.txt'
echo '*.log' > .gitignore; git add .; git commit -qm base; git push -qu origin main
git switch -qc topic; echo t > topic.txt; git add .; git commit -qm topic; git switch -q main
git tag v0; git branch spare; echo two >> a.txt; git commit -qam two; git push -q; git push -q origin topic
"""


def plain(home: str) -> None:
    shell(PLAIN, os.path.join(home, "world"), home)


def repository(home: str) -> None:
    shell(REPOSITORY, os.path.join(home, "world"), home)


def wheel(folder: str, name: str, version: str) -> None:
    """A wheel is a zip: a module, and what there is to say of it."""
    base = f"{name}-{version}"
    files = {
        f"{name.replace('.', '_')}/__init__.py": "",
        f"{base}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{base}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{base}.dist-info/RECORD"] = "".join(f"{each},,\n" for each in (*files, f"{base}.dist-info/RECORD"))
    with zipfile.ZipFile(os.path.join(folder, f"{base}-py3-none-any.whl"), "w") as made:
        for path, text in files.items():
            made.writestr(path, text)


def python(home: str) -> None:
    """A project with wheels, tests, and an environment that may be copied: its pip is the one that runs this."""
    import pip

    world = os.path.join(home, "world")
    os.mkdir(os.path.join(world, "wheels"))
    for name, version in (("demo_pkg", "1.0"), ("demo_pkg", "2.0"), ("other.lib", "0.1")):
        wheel(os.path.join(world, "wheels"), name, version)
    shared = os.path.join(os.path.dirname(os.path.dirname(home)), "shared")
    os.makedirs(shared)
    os.symlink(os.path.dirname(os.path.abspath(pip.__file__)), os.path.join(shared, "pip"))
    lines = f"{sys.executable} -m venv --without-pip .venv; cd .venv/lib/python*/site-packages; echo {shared} > pip.pth\n"
    lines += "cd ../../../..\n"
    lines += "printf '#!/bin/sh\\nexec \"${0%%/*}/python\" -m pip \"$@\"\\n' > .venv/bin/pip; chmod +x .venv/bin/pip\n"
    shell(lines + PYTHON, world, home)


PYTHON = r"""
mkdir tests bad empty unit sub; echo demo-pkg > requirements.txt; echo 'demo-pkg==1.0' > pins.txt
printf 'def test_one():\n    assert 1\n\n\ndef test_two():\n    assert 1\n' > tests/test_ok.py
printf 'def test_bad():\n    assert 0\n' > bad/test_bad.py; echo 'x = 1' > empty/test_nothing.py
printf 'import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n' > unit/test_unit.py
printf '[pytest]\naddopts = -p no:cacheprovider\n' > pytest.ini
"""
NODE = r"""
mkdir -p left scoped app/src tested/test many/packages/a
echo '{"name": "left", "version": "1.2.0"}' > left/package.json
echo '{"name": "@demo/scoped", "version": "0.1.0"}' > scoped/package.json
echo '{"name": "app", "version": "1.0.0", "scripts": {"test": "node --test", "build": "echo built"}}' > app/package.json
echo '{"name": "tested", "version": "1.0.0", "scripts": {"test": "node --test"}}' > tested/package.json
echo "require('node:test')('works', () => {});" > tested/test/a.test.js
echo '{"name": "many", "version": "1.0.0", "workspaces": ["packages/*"]}' > many/package.json
echo '{"name": "a", "version": "1.0.0"}' > many/packages/a/package.json
cd left; npm pack --silent > /dev/null; mv left-1.2.0.tgz ..
"""


def node(home: str) -> None:
    shell(NODE, os.path.join(home, "world"), home)


BASES = {"plain": plain, "repo": repository, "python": python, "node": node}
