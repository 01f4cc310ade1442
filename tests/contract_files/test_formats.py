"""The formats of JSON Schema: what their standards take holds, what they do not is refused, in the worker as well."""

from __future__ import annotations

import pytest

from truecall_py.contract_files.formats import FORMATS

TAKEN = {
    "date": ["2024-02-29", "0000-02-29", "9999-12-31"],
    "time": ["08:30:06Z", "08:30:06.283185+01:00", "23:59:60Z", "01:29:60+01:30", "15:59:60-08:00", "00:00:00z"],
    "date-time": ["1963-06-19T08:30:06.283185Z", "1998-12-31T23:59:60Z", "1963-06-19t08:30:06z"],
    "duration": ["P4DT12H30M5S", "P4Y", "PT0S", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W"],
    "email": ["joe.bloggs@example.com", "te~st@example.com", '"joe bloggs"@example.com', "a+b@localhost",
              "x@[127.0.0.1]", "x@[IPv6:::1]"],
    "hostname": ["www.example.com", "xn--4gbwdl.xn--wgbh1c", "1host", "a" * 63 + ".com"],
    "ipv4": ["192.168.0.1", "0.0.0.0"],
    "ipv6": ["::1", "::abef", "1:2:3:4:5:6:7:8", "::ffff:192.168.0.1"],
    "uuid": ["2EB8AA08-aa98-11EA-B4Aa-73B441D16380", "00000000-0000-0000-0000-000000000000"],
    "uri": ["http://foo.bar/?baz=qux#quux", "http://foo.com/blah_(wikipedia)_blah#cite-1", "urn:oasis:names:x",
            "ldap://[2001:db8::7]/c=GB?objectClass?one", "mailto:a@b.c", "tel:+1-816-555-1212", "http://u:p@h:80/",
            "file:///etc/fstab", "http://x/%41"],
    "uri-reference": ["/abc", "", "//foo.bar/?baz", "abc", "#fragment", "./a:b", "http://foo.bar"],
}  # fmt: skip
REFUSED = {
    "date": ["2023-02-29", "1998-13-01", "06/19/1963", "1998-1-20", "2024-02-29\n", "1963-06-1\u09ea", "0000-02-30"],
    "time": ["08:30:06", "24:00:00Z", "22:59:60Z", "08:30:06-08:000", "8:30:06Z", "01:02:03+24:00", "12:00:00.Z"],
    "date-time": ["1990-02-31T15:59:59Z", "1963-06-19 08:30:06Z", "1963-06-19T08:30:06", "2013-350T01:01:01"],
    "duration": ["PT1D", "P", "P1YT", "P2D1Y", "P1", "P1Y2W", "PT1H2S", "4DT12H"],
    "email": ["2962", ".test@example.com", "te..st@example.com", "joe bloggs@example.com", "x@", "x@[127.0.0.300]"],
    "hostname": ["-a.com", "a-.com", "a_b", "", "a" * 64 + ".com", "a..b"],
    "ipv4": ["127.0.0.0.1", "256.1.1.1", "087.10.0.1", "0x7f000001", "1.2.3.4/8"],
    "ipv6": ["12345::", "::1%eth0", "1::2::3", "::1/64", ""],
    "uuid": ["2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380"],
    "uri": ["//foo.bar", "/abc", "abc", "http://a b", ":// x", "http://x/%4", "\\\\share", "http://[::g]/", "a:b#c#d",
            "http://h:x/"],
    "uri-reference": ["\\\\share\\file", "#frag\\ment", "1:b"],
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_what_its_standard_says(name):
    """Each asserted format has texts that it takes, and texts that it does not."""
    assert [text for text in TAKEN[name] if not FORMATS[name](text)] == []
    assert [text for text in REFUSED[name] if FORMATS[name](text)] == []
