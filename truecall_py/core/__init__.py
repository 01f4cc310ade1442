"""Values and errors that every room uses; cheap stand-ins for json, dataclasses and hashlib."""
