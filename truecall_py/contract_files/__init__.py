"""Compiles contract files: YAML reader, JSON Schema, lint, compiler. Never imported by the hook."""
