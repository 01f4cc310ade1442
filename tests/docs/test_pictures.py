"""The pictures of the docs are what their scripts draw today, and need nothing but themselves."""

import importlib.util
import os
import re
import xml.etree.ElementTree as tree
from types import ModuleType

import pytest

from truecall_py.core.paths import PACKAGE

ASSETS = os.path.join(os.path.dirname(PACKAGE), "docs", "assets")
PICTURES = sorted(name for name in os.listdir(ASSETS) if name.endswith(".svg"))


def script(name: str) -> ModuleType:
    """The module that draws a picture."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(ASSETS, f"{name}.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(name: str) -> str:
    with open(os.path.join(ASSETS, name), encoding="utf-8") as file:
        return file.read()


def test_the_session_is_what_the_demo_prints() -> None:
    """session.svg is drawn from a run of `truecall demo`."""
    session = script("session")
    assert read("session.svg") == session.draw(session.run_demo()), "run: python docs/assets/session.py"


def test_the_rooms_are_those_of_the_imports() -> None:
    """architecture.svg is drawn from the package's imports, and the way of a call leads through rooms that exist."""
    architecture = script("architecture")
    assert read("architecture.svg") == architecture.draw(), "run: python docs/assets/architecture.py"
    assert {room for room, _ in architecture.STEPS} <= set(architecture.rooms.names())


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_stands_alone(name: str) -> None:
    """No font, style, script or picture comes from elsewhere, and the picture says what it shows."""
    text = read(name)
    root = tree.fromstring(text)
    assert re.findall(r"(?:href|src)=|url\(|@import|<script|<image|<foreignObject", text) == []
    assert re.findall(r"https?://[^\"'\s<>]+", text) == ["http://www.w3.org/2000/svg"]
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None and title.text
