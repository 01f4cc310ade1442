"""The pins of trusted contract files."""
