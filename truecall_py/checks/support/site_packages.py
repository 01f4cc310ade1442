"""Reads what is installed in a Python environment from its files: metadata, and whether the listed files exist. It
never imports or runs a package. It runs an interpreter only if the contract names it and its files do not decide."""

from __future__ import annotations

import os

from truecall_py.core.errors import Unverified
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from truecall_py.world.world import World

ENTRIES = 50_000  # entries of one folder that are looked at
LISTED = 2000  # files of a package that are looked for until one is found
LARGEST = 4 << 20  # bytes of a file of metadata
PLACES = """\
import json, site, sys
found = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
print(json.dumps([path for path in dict.fromkeys(found) if path.endswith("-packages")]))
"""


@record(frozen=True)
class Environment:
    """The package folders of an environment. `open`: it also sees the packages of another one."""

    name: str
    folders: tuple[str, ...]
    open: bool = False


@record(frozen=True)
class Installed:
    """One installed package. `trouble` says why it is unusable. `mark` changes with every installation."""

    name: str
    version: str
    path: str
    mark: tuple[int, ...]
    trouble: str = ""


def normalise(name: str) -> str:
    """Return a name as PEP 503 compares it."""
    found = "".join("-" if character in "-_." else character for character in name.strip().lower())
    while "--" in found:
        found = found.replace("--", "-")
    return found


def find_environment(path: str, named: bool, world: World) -> Environment:
    """Return the environment of a virtual environment's folder, or of an interpreter, at an absolute path. `named`:
    the contract names it, so its interpreter may be run. Raises Unverified."""
    found = world.stat(path)
    if found is None:
        raise Unverified(f"there is no Python environment at {path}", "world")
    # The link bin/python makes a folder a virtual environment, so it is not followed.
    is_folder = os.path.isdir(path)
    folder = path if is_folder else os.path.dirname(os.path.dirname(path))
    alone = any(world.stat(os.path.join(folder, name)) for name in ("pyvenv.cfg", "conda-meta"))
    if alone or (is_folder and named):
        return find_by_layout(folder, world) or is_missing(folder)
    if not named:
        why = f"{path} belongs to no virtual environment; where it keeps its packages is only asked of a Python that"
        raise Unverified(f"{why} the contract names (python:)", "contract")
    return ask_interpreter(path, world)


def is_missing(folder: str) -> Environment:
    raise Unverified(f"{folder} has no lib/python*/site-packages, so it is no Python environment", "world")


def find_by_layout(folder: str, world: World) -> Environment | None:
    """Return the environment below a folder, as its files show it; None without one."""
    settings = {}
    place = os.path.join(folder, "pyvenv.cfg")
    if world.stat(place):
        for line in read_text(place, world).split("\n"):
            key, _, value = line.partition("=")
            settings[key.strip().lower()] = value.strip()
    version = ".".join((settings.get("version") or settings.get("version_info") or "").split(".")[:2])
    found = []
    for library in ("lib", "lib64"):
        for name in world.names(os.path.join(folder, library)):
            packages = os.path.join(folder, library, name, "site-packages")
            if name.startswith(("python", "pypy")) and world.stat(packages):
                found.append((name, os.path.realpath(packages)))
    # The current Python does not see packages that an older one left in the same folder.
    right = [path for name, path in found if version in ("", parse_number(name))]
    folders = tuple(dict.fromkeys(right))
    kinds = {os.path.basename(os.path.dirname(path)) for path in folders}  # lib and lib64 may both be in use
    if (found and not folders) or len(kinds) > 1:
        raise Unverified(f"which of the packages in {folder}/lib are in use cannot be told", "world")
    system = settings.get("include-system-site-packages", "false").lower() == "true"
    return Environment(folder, folders, system) if folders else None


def parse_number(name: str) -> str:
    """Return the version in the name of a folder: 3.13 of python3.13, and of the free-threaded python3.13t."""
    return name.removeprefix("python").removeprefix("pypy").removesuffix("t")


def ask_interpreter(path: str, world: World) -> Environment:
    """Return the environment of an interpreter, which is started without any package."""
    from truecall_py.core.fast_json import JsonError, loads

    finished = world.run([path, "-I", "-S", "-c", PLACES], None, world.project or world.base)
    if finished.exit_code != 0:
        why = finished.trouble or finished.stderr.strip()[-120:] or f"it ended with {finished.exit_code}"
        raise Unverified(f"{path} does not say where it keeps its packages: {why}", "probe")
    try:
        folders = loads(finished.stdout.strip())
    except JsonError:
        folders = None
    if not isinstance(folders, list) or not folders or not all(isinstance(folder, str) for folder in folders):
        raise Unverified(f"{path} does not say where it keeps its packages", "probe")
    return Environment(path, tuple(folders))


def find_distributions(name: str, where: Environment, world: World) -> list[Installed]:
    """Return everything that is installed under a name, usable ones first. Raises Unverified."""
    wanted = normalise(name)
    copies = []
    for folder in where.folders:
        for entry in list_entries(folder, world):
            stem, _, suffix = entry.rpartition(".")
            if suffix not in ("dist-info", "egg-info", "egg-link") or not normalise(stem).startswith(wanted):
                continue
            world.remaining()
            one = read_distribution(os.path.join(folder, entry), suffix, folder, world)
            if one is not None and normalise(one.name) == wanted:
                copies.append(one)
    return sorted(copies, key=lambda one: bool(one.trouble))


def list_entries(folder: str, world: World) -> list[str]:
    """Return the entries of a folder, none without one. Raises Unverified if it is unreadable."""
    if world.stat(folder) is None:
        return []
    try:
        names = os.listdir(folder)
    except OSError as error:
        raise Unverified(f"{folder} cannot be read: {error.strerror}", "world") from None
    if len(names) > ENTRIES:
        raise Unverified(f"{folder} has more than {ENTRIES} entries", "probe")
    return names


def read_distribution(path: str, suffix: str, folder: str, world: World) -> Installed | None:
    """Return the package of a piece of metadata; None for a remnant of a broken removal."""
    if suffix == "egg-link":
        return find_link(path, world)
    about = {"dist-info": "METADATA", "egg-info": "PKG-INFO"}[suffix]
    file = os.path.join(path, about) if os.path.isdir(path) else path
    found = world.stat(file)
    if found is None:
        return None
    fields = parse_headers(read_text(file, world))
    if not fields.get("name"):
        return None
    mark = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    trouble = explain_broken(path, folder, world) if suffix == "dist-info" else ""
    return Installed(fields["name"], fields.get("version", ""), path, mark, trouble)


def parse_headers(text: str) -> dict[str, str]:
    """Return name and version of a metadata file."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if not line.strip():
            break  # the description follows
        key, colon, value = line.partition(":")
        if colon and key.strip().lower() in ("name", "version"):
            found.setdefault(key.strip().lower(), value.strip())
    return found


def find_link(path: str, world: World) -> Installed | None:
    """Return the package of an egg-link, an older kind of editable installation."""
    found = world.stat(path)
    place = read_text(path, world).split("\n")[0].strip()
    if found is None or not place:
        return None
    name = os.path.basename(path)[: -len(".egg-link")]
    mark = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if world.stat(place) is None:
        return Installed(name, "", path, mark, f"it is installed from {place}, which is not there")
    for entry in list_entries(place, world):
        if entry.endswith(".egg-info") and normalise(entry[:-9]).startswith(normalise(name)):
            file = os.path.join(place, entry, "PKG-INFO")
            if world.stat(file):
                return Installed(name, parse_headers(read_text(file, world)).get("version", ""), path, mark)
    return Installed(name, "", path, mark)


def explain_broken(path: str, folder: str, world: World) -> str:
    """Return why a package with metadata is unusable, or ""."""
    from truecall_py.core.fast_json import JsonError, loads

    place = os.path.join(path, "direct_url.json")
    if world.stat(place):
        try:
            about = loads(read_text(place, world))
        except JsonError:
            about = None
        if isinstance(about, dict) and isinstance(about.get("dir_info"), dict) and about["dir_info"].get("editable"):
            url = str(about.get("url", ""))
            if url.startswith("file:///"):
                from urllib.parse import unquote

                source = unquote(url[len("file://") :])
                if world.stat(source) is None:
                    return f"it is installed from {source}, which is not there"
    record_file = os.path.join(path, "RECORD")
    if not world.stat(record_file):
        return ""
    listed = list(list_code_files(read_text(record_file, world), os.path.basename(path)))
    # Scripts are outside of the package folder: they are the package only if it has no other file.
    files = [name for name in listed if not is_outside(name, 0)]
    files = files or [name for name in listed if not is_outside(name, 3)]
    if listed and not files:
        raise Unverified(f"{record_file} lists files outside of the environment only", "world")
    if files and not any(world.stat(os.path.join(folder, name)) for name in files):
        return f"its metadata is there, and none of its {len(files)} files"
    return ""


def is_outside(name: str, levels: int) -> bool:
    """Whether a path of RECORD is more than this number of levels above the package folder."""
    return os.path.normpath(name).startswith(("/", "../" * (levels + 1)))


def list_code_files(text: str, own: str) -> Iterator[str]:
    """Return files of a package other than metadata and compiled ones."""
    for number, line in enumerate(text.split("\n")):
        if number > LISTED:
            return
        name = line.rpartition(",")[0].rpartition(",")[0].strip('"')
        if name and not name.startswith(own) and "__pycache__" not in name:
            yield name


def read_text(path: str, world: World) -> str:
    found = world.stat(path)
    if found is not None and found.st_size > LARGEST:
        raise Unverified(f"{path} is larger than {LARGEST >> 20} MB", "probe")
    return world.read(path).decode("utf-8", "replace")
