#!/bin/sh
# usage: sh install/bootstrap.sh demo|test
# Sets truecall up in .venv of this checkout and runs its demo, or the tests that download nothing. Touches nothing
# else. Either way the launcher is the checkout's own, so that a hook registered after the one is still there after the
# other.
set -eu
cd "$(dirname "$0")/.."
for python in python3 python3.13 python3.12 python3.11 python3.10; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then break; fi
  python=
done
if [ -z "$python" ]; then
  echo "truecall needs Python 3.10 or newer, and none was found on PATH" >&2
  exit 2
fi
[ -x .venv/bin/python ] || "$python" -m venv .venv
case ${1:-demo} in
demo)
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable .
  exec .venv/bin/truecall demo
  ;;
test)
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
  exec .venv/bin/python -m pytest --numprocesses auto --dist worksteal
  ;;
*)
  echo "usage: sh install/bootstrap.sh demo|test" >&2
  exit 2
  ;;
esac
