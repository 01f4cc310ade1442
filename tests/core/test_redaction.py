"""What is quoted to an agent or a person holds no secret, no hidden character and no markup of a client."""

from __future__ import annotations

import random

import pytest

from truecall_py.contracts.matchers import describe, quote_value
from truecall_py.core.redaction import escape_hidden, mask_secrets, mask_value, quote, shorten
from truecall_py.core.secret_patterns import MASK


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
        ("psql -phunter4 app", "hunter4"),
        ("cd /srv && mysql -uroot -psecret8 db", "secret8"),
        ("/usr/bin/mysqldump -p'two words' db", "two"),
        ("sshpass -p hunter4 ssh host", "hunter4"),
        ("docker login -u me -p hunter4 host", "hunter4"),
        ("redis-cli -a hunter4 get x", "hunter4"),
        ("openssl rsa -passin pass:hunter4 -in k", "hunter4"),
        ("curl -u me:hunter4 http://h/", "hunter4"),
        ('curl --user "me:hunter4" http://h/', "hunter4"),
        ("curl -ume:hunter4 http://h/", "hunter4"),
        ("git clone https://me:hunter4@host/x.git", "hunter4"),
        ("git clone https://0123456789abcdef0123456789@host/x.git", "0123456789abcdef"),
        ("login --password=hunter4 --force", "hunter4"),
        ("login --password hunter4 --force", "hunter4"),
        ("login --pass hunter4 --force", "hunter4"),
        ("PGPASSWORD=hunter4 psql app", "hunter4"),
        ("MYSQL_PWD=hunter4 mysql app", "hunter4"),
        ("DB_PASS=hunter4", "hunter4"),
        ("export TOKEN=hunter4", "hunter4"),
        ("X-Api-Key: hunter4", "hunter4"),
        ("password => 'hunter4'", "hunter4"),
        ("<db_password>hunter4</db_password>", "hunter4"),
        ('{"auth": {"password": "a\\"hunter4"}}', "hunter4"),
        ("db:\n  password: one,hunter4\n  host: h", "hunter4"),
        ("private_key: |\n  hunter4\n  more4\nhost: h", "hunter4"),
        ("private_key: |\n  hunter4\n  more4\nhost: h", "more4"),
        ("-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE"
         " KEY-----", "MIIE"),
        ("MIIE\n-----END PRIVATE KEY----- and more", "MIIE"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nMIIE", "MIIE"),
        ("curl -H 'X: Bearer abcdef0123456789abc'", "abcdef0123456789abc"),
        *((f"it said {word}.", word) for word in (
            "github_pat_0123456789ABCDEFabcd", "glpat-abcdefghij0123456789", "xoxb-123456789012-abcdefghij",
            "AKIAABCDEFGHIJKLMNOP", "AIzaSyA0123456789abcdefghijklmnopqrstuv", "sk_live_0123456789abcdefghij",
            "npm_0123456789abcdefghijABCDEFGHIJklmnop", "pypi-AgEIcHlwaS5vcmcCJ0123456789", "sk-proj-abcdefgh0123456789",
            "sk-ant-REDACTED-0123456789",
        )),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    """Known token shapes, private keys and the values of secret-sounding names do not pass."""
    assert secret not in mask_secrets(text) and MASK in mask_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "the token is invalid", "tokens used = 3", "x = 1", "secrets:\n- a", "the password reset page",
        "350fa6b77d1c4a0e9f0b2d5c8e1a4f7b6c3d2e1f", "commit 350fa6b: slow lane",
        "00000000-0000-4000-8000-000000000001", "/srv/app/secret_key.py", "tokens.json: 3 rows", "max_tokens: 4096",
        "def login(user: str, password: str) -> Token:", "password: Optional", "token = os.environ['X']",
        "TOKEN=$OTHER", "password: ${{ env.X }}", "PWD=/srv/app", "psql -p5432 -h host", "cp -p a b", "mkdir -p a/b",
        "docker run -u 1000:1000 image", "git log -p file", "rsync -u a:b c", "pip install --user x", "config: a",
        "npm_lifecycle_event", "npm_config_registry_timeout", "hf_transfer_is_enabled", "sk-learn-intelex-package",
        "ASIA-PACIFIC-REGIONS", "ssh://git@host/x.git", "a bearer of good news and more", "token_count: 5",
        "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----", "the file is \"a.md\"",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """Prose about secrets, hashes, ids, names of files, types, references to where a secret is, ports, folders."""
    assert mask_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    ['{"password": "[masked]"}', "password=hunter4 token: abc", 'DB_PASSWORD of /p/.env is "hunter4"',
     "psql -phunter4", "https://me:hunter4@host", "Authorization: Bearer abcdef0123456789abc"],
)  # fmt: skip
def test_masking_twice_is_masking_once(text: str) -> None:
    """What is told goes through it more than once."""
    assert mask_secrets(mask_secrets(text)) == mask_secrets(text)


@pytest.mark.parametrize("value", ["hunter4", "it's hunter4", ["a", "hunter4"], 4444, 'a "hunter4" b'])
@pytest.mark.parametrize("words", ["{} of /a b/.env {}", "{} {}", "status 200, and auth.{} {}, body \"x\""])
@pytest.mark.parametrize("matcher", ["equals", "not_equals", "contains", "is"])
def test_what_a_check_says_of_a_secret(value: object, words: str, matcher: str) -> None:
    """A phrase names the place and quotes the value: the name stands far from it, and hides it all the same."""
    is_ = f"is {quote_value(value)}" if matcher == "is" else describe({matcher: value})
    text = mask_secrets(words.format("DB_PASSWORD", is_))
    assert "hunter4" not in text and "4444" not in text and "DB_PASSWORD" in text
    assert mask_secrets(words.format("title", is_)) == words.format("title", is_)


def test_values_are_masked_by_their_keys() -> None:
    """Nested keys, pairs of name and value, options in lists, numbers; the rest stays as it is."""
    given = {
        "password": "correct horse battery", "auth": {"client_secret": {"a": ["x", 5]}, "user": "me"}, "max_tokens": 9,
        "env": [{"name": "DB_PASSWORD", "value": "x"}, {"name": "HOME", "value": "/h"}], "apiKey": 123456,
        "argv": ["--token", "abc", "--flag", "abc"], "on": True, "no": None, "text": "a ghp_0123456789abcdefghij b",
        "secret": "", "token": "$TOKEN",
    }  # fmt: skip
    assert mask_value(given) == {
        "password": MASK, "auth": {"client_secret": {"a": [MASK, MASK]}, "user": "me"}, "max_tokens": 9,
        "env": [{"name": "DB_PASSWORD", "value": MASK}, {"name": "HOME", "value": "/h"}], "apiKey": MASK,
        "argv": ["--token", MASK, "--flag", "abc"], "on": True, "no": None, "text": f"a {MASK} b",
        "secret": "", "token": "$TOKEN",
    }  # fmt: skip


@pytest.mark.parametrize("piece", ["token ", "token=", "://", "-eyJ", "eyJ", " -p", "PRIVATE KEY", "-----BEGIN PRIVATE KEY",
                                   "password of ", 'token is "', "mysql -p", "password: |\n "])  # fmt: skip
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    """Half a megabyte of the worst is gone through, step by step: what is counted are steps, not seconds."""
    import sys

    steps = 0

    def step(*_: object) -> object:
        nonlocal steps
        steps += 1
        return step

    given = piece * (50_000 // len(piece))
    sys.settrace(step)
    try:
        mask_secrets(given)
    finally:
        sys.settrace(None)
    assert steps < 100 * len(given)  # by the square it would be 50,000


def test_hidden_characters_and_markup_are_written_out() -> None:
    """Control, bidirectional and invisible characters and tags of a client lose their force; text stays."""
    text = "a\x1b[31m\u202eb\u200b</system-reminder><b>\x00 1 < 2\n\ttab é \ud800"
    assert escape_hidden(text) == "a\\x1b[31m\\u202eb\\u200b&lt;/system-reminder>&lt;b>\\x00 1 < 2\n\ttab é \\ud800"


def test_shortening_keeps_both_ends_within_the_limit() -> None:
    """A long text keeps its head and its tail, in bytes, and never half a character."""
    cut = shorten("é" * 5000, 300)
    assert len(cut.encode()) <= 300 and cut.startswith("é") and cut.endswith("é") and "left out" in cut


def test_a_secret_at_the_cut_is_still_masked() -> None:
    """A token that the cut would halve is masked whole before anything is cut."""
    chance = random.Random(3)
    token = "ghp_" + "".join(chance.choice("abcdefghij0123456789") for _ in range(36))
    for at in range(0, 400, 7):
        text = "x " * at + token + " y" * 2000
        assert token[:20] not in quote(text, 300)
