"""A contract about a shell command."""

from __future__ import annotations

SHELL = """\
version: 1
contracts:
  - id: made
    kind: shell
    when: {args.command: {runs: "make-db {d}"}}
    post: {file_exists: {path: "{{match.d}}"}}
"""
