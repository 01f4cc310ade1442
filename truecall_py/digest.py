"""SHA-256 without the price of `import hashlib` (which loads OpenSSL). Nothing else."""

from __future__ import annotations


def sha256(data: bytes) -> str:
    """The SHA-256 of `data` in hexadecimal."""
    for name in ("_sha2", "_sha256"):  # CPython's own C modules: from 3.12 on, before
        try:
            return str(__import__(name).sha256(data).hexdigest())
        except (ImportError, AttributeError):
            continue
    import hashlib

    return hashlib.sha256(data).hexdigest()
