"""Contracts, a call and the world to verdicts, and their entry in the ledger."""
