"""SHA-256, HMAC and BLAKE2b without `import hashlib`, which loads OpenSSL."""

from __future__ import annotations


def sha256(data: bytes) -> str:
    """Returns the SHA-256 of `data` in hexadecimal."""
    for name in ("_sha2", "_sha256"):  # CPython's own C modules: from 3.12 on, before
        try:
            return str(__import__(name).sha256(data).hexdigest())
        except (ImportError, AttributeError):
            continue
    import hashlib

    return hashlib.sha256(data).hexdigest()


def blake2b(data: bytes) -> str:
    """Returns the BLAKE2b of `data`, 32 bytes in hexadecimal. Four times as fast as SHA-256 without OpenSSL."""
    try:
        return str(__import__("_blake2").blake2b(data, digest_size=32).hexdigest())
    except (ImportError, AttributeError):
        import hashlib

        return hashlib.blake2b(data, digest_size=32).hexdigest()


def hmac_sha256(key: bytes, data: bytes) -> str:
    """Returns the HMAC-SHA-256 (RFC 2104) of `data` in hexadecimal. `key` has at most 64 bytes."""
    block = key.ljust(64, b"\0")
    inner = bytes.fromhex(sha256(bytes(byte ^ 0x36 for byte in block) + data))
    return sha256(bytes(byte ^ 0x5C for byte in block) + inner)
