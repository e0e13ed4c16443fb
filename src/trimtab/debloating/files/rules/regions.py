"""Files that depend on place, time and terminal of a run: small, and seldom opened."""

import re
from collections.abc import Iterator

from trimtab.debloating.files.closure_rules import ClosureInput, Dependency, KeepReason, KeptPath
from trimtab.debloating.files.tree import joined
from trimtab.images.node import FileType

_LOCALE = re.compile(
    r"(/usr/(?:local/)?lib/locale/[^/]+)/LC_(?:CTYPE|COLLATE|MESSAGES|MONETARY|NUMERIC|TIME)\Z"
)
# Programs, Python among them, fall back to it; without it only ASCII is text.
_FALLBACK_LOCALE = "/usr/lib/locale/C.utf8"
_TERMINFO = ("/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo")
_TERMINAL_LIBRARY = re.compile(r"lib(?:tinfo|ncurses|terminfo)")
_TERMINALS = (
    *("ansi", "dumb", "linux", "vt100", "vt220", "xterm", "xterm-color", "xterm-256color"),
    *("screen", "screen-256color", "tmux", "tmux-256color", "rxvt", "rxvt-unicode-256color"),
)
_TLS_LIBRARY = re.compile(r"lib(?:ssl|gnutls|nss3|mbedtls)\b")
_CERTIFICATES = ("/etc/ssl", "/etc/pki/tls", "/etc/pki/ca-trust/extracted", "/usr/lib/ssl")
_CERTIFICATE_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/usr/lib/ssl/openssl.cnf",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/openssl.cnf",
)
_BUNDLE = re.compile(r"/site-packages/(?:certifi|pip/_vendor/certifi|botocore)\Z")
_ZONES = "/usr/share/zoneinfo"


def locale_of(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep all categories of a locale if one is used, and with glibc the Unicode fallback."""
    if match := _LOCALE.match(found.path):
        yield from _whole(root, match[1], KeepReason.LOCALE)
    elif found.name == "libc.so.6" and root.tree.is_whole:
        yield from _whole(root, _FALLBACK_LOCALE, KeepReason.LOCALE)


def terminals_for(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep, with a library that reads them, the descriptions of common terminals."""
    if not root.tree.is_whole or not _TERMINAL_LIBRARY.match(found.name) or not found.runs:
        return
    for folder in _TERMINFO:
        for terminal in _TERMINALS:
            yield Dependency(f"{folder}/{terminal[0]}/{terminal}", KeepReason.TERMINAL)


def certificates_for(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the system's certificates with a TLS library, and the bundles of Python packages."""
    if _BUNDLE.search(root.tree.seen(found.path)):
        yield Dependency(root.tree.seen(joined(found.path, "cacert.pem")), KeepReason.CERTIFICATES)
    if not root.tree.is_whole or not _TLS_LIBRARY.match(found.name) or not found.runs:
        return
    for path in (*_CERTIFICATES, *_CERTIFICATE_FILES):
        yield Dependency(path, KeepReason.CERTIFICATES)
    certificates = root.tree.walk("/etc/ssl/certs").end
    for name in root.tree.names.get(certificates or "", ()):
        yield Dependency(f"/etc/ssl/certs/{name}", KeepReason.CERTIFICATES)


def time_zone(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the system's time zone, and UTC."""
    if root.tree.is_whole and found.path == "/":
        for path in ("/etc/localtime", "/etc/timezone", f"{_ZONES}/UTC", f"{_ZONES}/Etc/UTC"):
            yield Dependency(path, KeepReason.TIME_ZONE)


def _whole(root: ClosureInput, folder: str, reason: KeepReason) -> Iterator[Dependency]:
    for path in root.tree.below(folder):
        if root.tree.nodes[path].kind is not FileType.FOLDER:
            yield Dependency(path, reason)
