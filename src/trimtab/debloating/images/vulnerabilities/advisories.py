"""Read advisories in the OSV format (ossf.github.io/osv-schema) from local files."""

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from trimtab.debloating.images.vulnerabilities.versions import compares
from trimtab.errors import UserError
from trimtab.files import read_limited

_MOST_BYTES = 1 << 25  # of an advisory; the longest of osv.dev have a few MB
_MOST_ADVISORIES = 4_000_000


@dataclass(frozen=True)
class Affected:
    """The affected versions of a package in an advisory.

    Each range is a list of events, such as `("introduced", "1.2")`. Only ranges in the ecosystem's
    versions are used, not ranges of commits.
    """

    ecosystem: str
    package: str
    versions: frozenset[str]
    ranges: tuple[tuple[tuple[str, str], ...], ...]

    def has(self, version: str) -> bool:
        """Return whether a version is affected, by the evaluation rules of the schema."""
        if version in self.versions:
            return True
        compare = compares(self.ecosystem)
        return compare is not None and any(
            _is_within(events, version, compare) for events in self.ranges
        )


@dataclass(frozen=True)
class Advisory:
    """An advisory: `vulnerabilities` are its CVE numbers, or else its own name."""

    name: str
    vulnerabilities: frozenset[str]
    affected: tuple[Affected, ...]

    @classmethod
    def parse(cls, document: Any) -> Self | None:
        """Parse a document; returns None for a withdrawn advisory.

        Raises ValueError for any other document.
        """
        if not isinstance(document, dict) or not isinstance(document.get("id"), str):
            raise ValueError("has no `id`")
        if document.get("withdrawn"):
            return None
        name = document["id"]
        names = [name, *_texts(document, "aliases"), *_texts(document, "upstream")]
        numbers = {number[number.find("CVE-") :] for number in names if "CVE-" in number}
        affected = tuple(_affected(each) for each in _list(document, "affected"))
        return cls(name, frozenset(numbers or {name}), affected)


def read_advisories(path: Path) -> Iterator[Advisory]:
    """Yield the advisories in a JSON file, in a folder and all below it, or in a ZIP archive.

    The archive has the layout of osv.dev's exports. Raises UserError if nothing is found, or for a
    file that is no advisory, with its name.
    """
    found = 0
    for name, text in _documents(path):
        try:
            document = json.loads(text)
            several = document if isinstance(document, list) else [document]
            advisories = [Advisory.parse(each) for each in several]
        except (ValueError, RecursionError) as error:
            raise UserError(f"{name}: no advisory in the OSV format: {error}") from None
        found += len(several)
        if found > _MOST_ADVISORIES:
            raise UserError(f"{path}: more than {_MOST_ADVISORIES:,} advisories")
        yield from (advisory for advisory in advisories if advisory is not None)
    if not found:
        raise UserError(f"{path}: no advisories; expected files *.json in the OSV format")


def _documents(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            if file.is_file():
                yield str(file), read_limited(file, _MOST_BYTES)
    elif not path.exists():
        raise UserError(f"{path}: no such file or folder")
    elif zipfile.is_zipfile(path):
        yield from _in_archive(path)
    else:
        yield str(path), read_limited(path, _MOST_BYTES)


def _in_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.filename.endswith(".json"):
                    continue
                with archive.open(member) as file:
                    text = file.read(_MOST_BYTES + 1)
                if len(text) > _MOST_BYTES:
                    raise UserError(f"{path}: {member.filename}: more than {_MOST_BYTES:,} bytes")
                yield f"{path}: {member.filename}", text
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UserError(f"{path}: a ZIP archive that cannot be read: {error}") from None


def _affected(document: Any) -> Affected:
    if not isinstance(document, dict):
        raise ValueError("`affected` has an entry that is no object")
    package = document.get("package") or {}
    if not isinstance(package, dict):
        raise ValueError("`affected.package` is no object")
    ecosystem, name = package.get("ecosystem", ""), package.get("name", "")
    if not isinstance(ecosystem, str) or not isinstance(name, str):
        raise ValueError("`affected.package` has a name that is no text")
    ranges = (
        tuple(_events(each))
        for each in _list(document, "ranges")
        if isinstance(each, dict) and each.get("type") in ("ECOSYSTEM", "SEMVER")
    )
    return Affected(ecosystem, name, frozenset(_texts(document, "versions")), tuple(ranges))


def _events(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for event in _list(document, "events"):
        if not isinstance(event, dict):
            raise ValueError("`events` has an entry that is no object")
        for kind in ("introduced", "fixed", "last_affected"):
            if isinstance(version := event.get(kind), str):
                yield kind, version


def _is_within(events: tuple[tuple[str, str], ...], version: str, compare: Any) -> bool:
    """Return whether a version is in a range: the last event up to the version decides."""
    try:
        here = compare(version)
        placed = sorted(
            ((kind, None if text == "0" else compare(text)) for kind, text in events),
            key=lambda event: (event[1] is not None, event[1]),
        )
    except ValueError:  # an invalid version in its ecosystem
        return False
    is_in = False
    for kind, there in placed:
        if kind == "introduced":
            is_in |= there is None or here >= there
        elif kind == "fixed":
            is_in &= there is not None and here < there
        else:
            is_in &= there is not None and here <= there
    return is_in


def _list(document: dict[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"`{key}` is no list")
    return value


def _texts(document: dict[str, Any], key: str) -> list[str]:
    return [text for text in _list(document, key) if isinstance(text, str)]
