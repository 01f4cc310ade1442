"""Writes the files that are generated from the code. Not part of the wheel."""
