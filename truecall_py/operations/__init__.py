"""What must happen once: intents, receipts, their order, and looking them up later."""
