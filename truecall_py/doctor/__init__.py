"""Shows whether truecall is really asked."""
