"""Tests whether the hook is called and answers."""
