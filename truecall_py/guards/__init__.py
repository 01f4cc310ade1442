"""Contracts that are judged before a call."""
