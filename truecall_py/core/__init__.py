"""Values and errors that every room uses, and cheap stand-ins for json, dataclasses and hashlib."""
