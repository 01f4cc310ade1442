"""SHA-256, alone and with a key, without the price of `import hashlib` (which loads OpenSSL). Nothing else."""

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


def keyed(key: bytes, data: bytes) -> str:
    """The keyed digest (HMAC, RFC 2104, with SHA-256) of `data` in hexadecimal; `key` has at most 64 bytes."""
    block = key.ljust(64, b"\0")
    inner = bytes.fromhex(sha256(bytes(byte ^ 0x36 for byte in block) + data))
    return sha256(bytes(byte ^ 0x5C for byte in block) + inner)
