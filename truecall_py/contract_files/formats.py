"""Tests the formats of JSON Schema that truecall asserts, with the standard library. It accepts everything that the
standard of a format accepts. A format outside FORMATS is not asserted, and `lint` warns."""

from __future__ import annotations

import datetime
import ipaddress
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# RFC 3339 allows a small t and z, and a leap second.
TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
DURATION = re.compile(
    r"P(?:\d+W|(?=\d|T\d)(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?"
    r"(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)",
    re.ASCII,
)
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
REFERENCE = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
ATOM = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
QUOTED = re.compile(r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"')
LONGEST_NAME = 253  # characters of a host name


def is_date(text: str) -> bool:
    if not DATE.fullmatch(text):
        return False
    try:
        datetime.date(int(text[:4]), int(text[5:7]), int(text[8:]))
    except ValueError:
        return text[:4] == "0000" and is_date("2000" + text[4:])  # year 0 is valid in RFC 3339, but not in Python
    return True


def is_time(text: str) -> bool:
    found = TIME.fullmatch(text)
    if not found:
        return False
    hour, minute, second = (int(found[at]) for at in (1, 2, 3))
    off_hour, off_minute = int(found[5] or 0), int(found[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or off_hour > 23 or off_minute > 59:
        return False
    if second < 60:
        return True
    offset = (off_hour * 60 + off_minute) * (-1 if found[4] == "-" else 1)
    return (hour * 60 + minute - offset) % 1440 == 1439  # a leap second is valid only at midnight UTC


def is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and is_date(text[:10]) and is_time(text[11:])


def is_hostname(text: str) -> bool:
    """By RFC 1123, without the dot of the root."""
    return 0 < len(text) <= LONGEST_NAME and all(map(LABEL.fullmatch, text.split(".")))


def is_email(text: str) -> bool:
    """By RFC 5321. Letters beyond ASCII (RFC 6531) belong to idn-email."""
    local, at, domain = text.rpartition("@")
    if not at or not (ATOM.fullmatch(local) or QUOTED.fullmatch(local)):
        return False
    if domain[:1] == "[" and domain[-1:] == "]":
        inside = domain[1:-1]
        return is_ipv6(inside[5:]) if inside[:5].lower() == "ipv6:" else is_ipv4(inside)
    return is_hostname(domain)


def is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_ipv6(text: str) -> bool:
    try:
        return "%" not in text and bool(ipaddress.IPv6Address(text).exploded)  # RFC 4291 has no zones
    except ValueError:
        return False


def is_uuid(text: str) -> bool:
    return UUID.fullmatch(text) is not None


def is_uri_reference(text: str) -> bool:
    """By RFC 3986, as far as its characters, its fragment and its brackets go."""
    if not REFERENCE.fullmatch(text) or text.count("#") > 1:
        return False
    colon, first = text.find(":"), re.search(r"[/?#]", text)
    if colon >= 0 and (first is None or colon < first.start()) and not SCHEME.match(text):
        return False
    rest = text[colon + 1 :] if SCHEME.match(text) else text
    authority = re.match(r"//([^/?#]*)", rest)
    host = authority[1].rpartition("@")[2] if authority else ""
    if host[:1] == "[":
        inside, bracket, port = host[1:].partition("]")
        known = inside[:1] in ("v", "V") or is_ipv6(inside)
        if not bracket or not known or not re.fullmatch(r"(?::[0-9]*)?", port):
            return False
        rest = rest.replace(host, "", 1)
    elif host and not re.fullmatch(r"[^:]*(?::[0-9]*)?", host):
        return False
    return "[" not in rest and "]" not in rest


def is_uri(text: str) -> bool:
    return SCHEME.match(text) is not None and is_uri_reference(text)


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": is_date, "time": is_time, "date-time": is_date_time,
    "duration": lambda text: DURATION.fullmatch(text) is not None,
    "email": is_email, "hostname": is_hostname, "ipv4": is_ipv4, "ipv6": is_ipv6, "uuid": is_uuid, "uri": is_uri,
    "uri-reference": is_uri_reference,
}  # fmt: skip


def make_checker(name: str) -> Callable[[object], bool]:
    """Return the test of a format as jsonschema needs it: a value that is not text passes."""
    holds = FORMATS[name]
    return lambda value: not isinstance(value, str) or holds(value)
