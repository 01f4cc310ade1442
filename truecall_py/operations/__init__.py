"""Operations that must happen once: intents, receipts, precedence, later lookups."""
