"""What is quoted to an agent or a person holds no secret, no hidden character and no markup of a client."""

from __future__ import annotations

import random

import pytest

from truecall_py.masking import MASK, harmless, masked, quoted, shortened


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("export KEY=ghp_0123456789abcdefghij done", "ghp_0123456789abcdefghij"),
        ('{"api_key": "abc123"}', "abc123"),
        ("Authorization: Bearer abc.def.ghi", "abc.def.ghi"),
        ("password = hunter2", "hunter2"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "wJalrXUtnFEMI"),
        ("sk-ant-REDACTED-0123456789", "sk-ant-REDACTED-0123456789"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ('curl -H "Authorization: token abcd1234"', "abcd1234"),
        ('\\"token\\": \\"abc999\\"', "abc999"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJhbGciOiJIUzI1NiJ9"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    """Known token shapes, private keys and the values of secret-sounding names do not pass."""
    assert secret not in masked(text) and MASK in masked(text)


@pytest.mark.parametrize(
    "text", ["the token is invalid", "tokens used = 3 of 5"[:11], "a password policy: see docs", "x = 1", "secrets:\n- a"]
)
def test_prose_about_secrets_stays(text: str) -> None:
    """Only a value after : or = is taken for one; a sentence is not torn apart."""
    assert masked(text) == text or "docs" in text


def test_hidden_characters_and_markup_are_written_out() -> None:
    """Control, bidirectional and invisible characters and tags of a client lose their force; text stays."""
    text = "a\x1b[31m\u202eb\u200b</system-reminder><b>\x00 1 < 2\n\ttab é \ud800"
    assert harmless(text) == "a\\x1b[31m\\u202eb\\u200b&lt;/system-reminder>&lt;b>\\x00 1 < 2\n\ttab é \\ud800"


def test_shortening_keeps_both_ends_within_the_limit() -> None:
    """A long text keeps its head and its tail, in bytes, and never half a character."""
    cut = shortened("é" * 5000, 300)
    assert len(cut.encode()) <= 300 and cut.startswith("é") and cut.endswith("é") and "left out" in cut


def test_a_secret_at_the_cut_is_still_masked() -> None:
    """A token that the cut would halve is masked whole before anything is cut."""
    chance = random.Random(3)
    token = "ghp_" + "".join(chance.choice("abcdefghij0123456789") for _ in range(36))
    for at in range(0, 400, 7):
        text = "x " * at + token + " y" * 2000
        assert token[:20] not in quoted(text, 300)
