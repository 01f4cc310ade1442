"""Honest installs and runs of tests, for the packs `python` and `node`: local wheels, archives and folders, no network."""

# ruff: noqa: E501 - tables of cases are read across
from __future__ import annotations

import random

from detect_world import Case

FIND = ["--no-index --find-links wheels", "--no-index -f wheels", "-q --no-index --find-links=wheels"]
PIPS = [".venv/bin/pip", ".venv/bin/python -m pip", ".venv/bin/python3 -m pip"]
# @p: pip of the environment, @f: where the wheels are.
INSTALLS = [
    ("@p install @f demo-pkg", "python-installed", ""), ("@p install @f 'Demo.Pkg>=1,<3' other_lib", "python-installed", ""), ("@p install @f -c pins.txt demo-pkg", "python-installed", ""), ("@p install @f 'demo-pkg[none]~=1.0' 2>&1", "python-installed", ""), ("@p install -U @f demo-pkg && echo done", "python-installed", ""), ("cd . && @p install @f -r requirements.txt other.lib", "python-installed", ""),
    ("pip --python .venv/bin/python install @f demo-pkg", "python-installed", ""), ("@p install @f demo-pkg", "python-installed", "other"), ("@p install @f --force-reinstall demo-pkg==1.0", "python-installed", "other"), ("@p uninstall -y demo-pkg", "python-uninstalled", "@p install -q @f demo-pkg"), ("@p uninstall -y Demo_Pkg other-lib", "python-uninstalled", "@p install -q @f demo-pkg other.lib"),
    ("@p install @f -r requirements.txt", "", ""), ("@p install --no-index wheels/demo_pkg-1.0-py3-none-any.whl", "", ""), ("@p install @f 'demo-pkg; python_version < \"3\"'", "", ""), ("@p install @f --dry-run demo-pkg", "", ""), ("@p install @f --target lib demo-pkg", "", ""), ("PIP_TARGET=lib @p install @f demo-pkg", "", ""), ("@p install @f demo-pkg | tail -1", "", ""), ("@p install @f no-such-package || true", "", ""), ("@p install --help > /dev/null", "", ""), ("@p uninstall -y never-there", "", ""), ("@p list", "", ""), ("@p show demo-pkg || true", "", ""), ("@p freeze > frozen.txt", "shell-output", ""), ("@p check", "", ""), ("echo '@p install demo-pkg'", "", ""), ("@p install @f demo-pkg && @p uninstall -qy demo-pkg", "python-uninstalled", "@p install -q @f demo-pkg"), ("@p download -q @f -d got demo-pkg", "", ""),
]  # fmt: skip
TESTS = [
    ("python3 -m venv --without-pip env2", "python-venv", ""), ("python3 -m venv --without-pip 'env two' --prompt x", "python-venv", ""), ("python3 -m venv --without-pip --clear .venv", "python-venv", "rm .venv/pyvenv.cfg"), ("cd sub && python3 -m venv --without-pip ../e && cd ..", "python-venv", "rm -rf e/bin"), ("python3 -m venv --help > /dev/null", "", ""), ("python3 -m venv --without-pip e && rm -rf e", "", ""),
    ("pytest -q tests", "", ""), ("python -m pytest tests 2>&1 | tail -3", "", ""), ("pytest -q bad || true", "", ""), ("pytest --collect-only -q empty || true", "", ""), ("pytest -q -k nothing tests || true", "", ""), ("pytest empty", "", ""), ("pytest --version", "", ""), ("pytest -q tests empty | tail -1", "", ""), ("pytest --junitxml=r.xml -q tests", "python-pytest-report", "printf '<testsuites><testsuite><testcase name=\"a\"><failure message=\"x\"/></testcase></testsuite></testsuites>' > r.xml"), ("pytest -q --junitxml out/r.xml tests", "python-pytest-report", "rm out/r.xml"),
    ("python -m unittest discover -s unit", "", ""), ("python -m unittest discover -s unit -k nothing || true", "", ""), ("python -m unittest unit.test_unit 2>&1 | tail -1", "", ""), ("python -m compileall -q tests", "", ""), ("python -c 'import sys; print(sys.version)'", "", ""), ("echo 'no tests ran in 0.01s'", "", ""), ("grep -rn 'collected 0 items' . || true", "", ""), ("cat > t.sh <<'EOF'\npytest empty\nEOF", "shell-document", ": > t.sh"), ("pytest --fixtures -q tests > /dev/null", "", ""), ("pytest -q tests > log.txt 2>&1", "shell-output", ""),
]  # fmt: skip


def python(chance: random.Random) -> list[Case]:
    found = []
    for command, refutes, undo in INSTALLS:
        names = {"@p": chance.choice(PIPS), "@f": chance.choice(FIND)}
        setup = ""
        if "uninstall" in command and "never" not in command and "&&" not in command:
            setup = ".venv/bin/pip install -q --no-index -f wheels demo-pkg other.lib"
        elif chance.random() < 0.15 and refutes == "python-installed" and not undo:  # nothing to do
            setup = ".venv/bin/pip install -q --no-index -f wheels demo-pkg other.lib"
            undo = ".venv/bin/pip uninstall -qy demo-pkg other.lib"
        if undo == "other":  # another version than the one that was named
            undo = f"@p install -q @f --force-reinstall demo-pkg=={'2.0' if '1.0' in command else '1.0'}" if "==" in command else ".venv/bin/pip uninstall -qy demo-pkg"
        for mark, name in names.items():
            command, undo = command.replace(mark, name), undo.replace(mark, name)
        found.append(Case("python", command, refutes, setup, undo, "python"))
    for command, refutes, undo in TESTS:
        found.append(Case("python", command, refutes, undo=undo, base="python"))
    silent = "no tests ran in 0.01s"
    for command, kind in (("pytest -q tests | tail -3", "python-pytest-none"), ("python -m pytest tests || true", "python-pytest-none"), ("python -m unittest discover -s unit", "python-unittest-none")):
        text = silent if "pytest" in kind else "\nRan 0 tests in 0.000s\n\nOK\n"
        answer = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        found.append(Case("python", command, kind, base="python", twin={"tool_response": answer}))
    return found


# (command, folder, what the twin must be refuted by, how it is undone)
NPM = [
    ("npm install left@file:../left-1.2.0.tgz", "app", "node-installed", "rm -rf app/node_modules/left"), ("npm i -D left@file:../left @demo/scoped@file:../scoped", "app", "node-installed", "rm -rf app/node_modules/@demo"), ("npm add --no-audit --no-fund pad@file:../left", "app", "node-installed", "rm -rf app/node_modules"), ("cd app && npm install --silent left@file:../left", ".", "node-installed", ""), ("npm install left@file:../../../left", "many/packages/a", "", ""), ("npm install left@file:../../left", "app/src", "", ""),
    ("npm install ../left", "app", "", ""), ("npm install --dry-run left@file:../left", "app", "", ""), ("npm install --package-lock-only left@file:../left", "app", "", ""), ("npm install --prefix ../tested left@file:../left", "app", "", ""), ("npm install -w a left@file:../left", "many", "", ""), ("npm install left@file:../left | tail -1", "app", "", ""), ("npm install no-such-package || true", "app", "", ""), ("npm install", "app", "", ""), ("npm install --help > /dev/null", "app", "", ""), ("npm uninstall left", "app", "", ""), ("npm ls || true", "app", "", ""), ("echo 'npm install left'", "app", "", ""), ("npm run build", "app", "", ""), ("npm pkg set description=x", "app", "", ""), ("npm version patch --no-git-tag-version", "app", "", ""), ("npm init -y", "app/src", "", ""),
    ("npm pack --silent", "left", "", ""), ("npm install -g left@file:../left --prefix ../glob", "app", "", ""), ("node --test", "tested", "", ""), ("npm test", "tested", "", ""), ("npm run test 2>&1 | tail -9", "tested", "", ""), ("node --test --test-name-pattern=nothing", "app", "", ""), ("node --version", "app", "", ""), ("node -e 'console.log(1)' > o.txt", "app", "shell-output", ""), ("npm t || true", "left", "", ""), ("npx --no-install nothing || true", "app", "", ""), ("npm ci || npm install", "app", "", ""), ("npm exec --offline -- node --version", "app", "", ""),
]  # fmt: skip


def node(chance: random.Random) -> list[Case]:
    found = []
    for command, folder, refutes, undo in NPM:
        setup = "cd app; npm install --silent left@file:../left" if "uninstall" in command else ""
        if setup:
            refutes, undo = "node-uninstalled", "cp app/package.json.was app/package.json"
            setup += "; cp package.json package.json.was"
        found.append(Case("node", command, refutes, setup, undo, "node", folder))
    for command, text, kind in (
        ("npm test", "> node --test\n\nTAP version 13\n1..0\n# tests 0\n# pass 0\n# fail 0\n", "node-test-none"),
        ("npm test || true", "No tests found, exiting with code 1\n", "node-jest-none"), ("npm test 2>&1 | tail -5", "\nNo test files found, exiting with code 1\n", "node-jest-none"),
    ):  # fmt: skip
        answer = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        found.append(Case("node", command, kind, base="node", folder="tested", twin={"tool_response": answer}))
    return found
