"""The kind of a file, by its name and place, for the groups of a report."""

import re
from enum import StrEnum


class FileKind(StrEnum):
    """A kind of file, in words."""

    DOCUMENTATION = "documentation"
    LOCALE = "locale"
    TIME_ZONE = "time zones"
    CERTIFICATES = "certificates"
    TERMINAL = "terminals"
    TESTS = "tests"
    HEADERS = "headers"
    STATIC_LIBRARY = "static libraries"
    DATABASE = "package databases"
    CACHE = "caches and logs"
    METADATA = "metadata of Python distributions"
    BYTE_CODE = "byte code"
    STUBS = "type stubs"
    PYTHON = "Python modules"
    SHARED_LIBRARY = "shared libraries"
    CONFIGURATION = "configuration"
    PROGRAM = "programs"
    OTHER = "other"


# The first match counts: tests written in Python are tests.
_PATTERNS: tuple[tuple[FileKind, str], ...] = (
    (FileKind.DATABASE, r"^/var/lib/(dpkg|apt|pacman|rpm)/|^/lib/apk/|/conda-meta/"),
    (FileKind.CACHE, r"^/var/(cache|log|backups)/|^/root/\.cache/|^/(var/)?tmp/"),
    (
        FileKind.DOCUMENTATION,
        r"/(share/)?(doc|man|info|gtk-doc|help|doc-base|lintian)/|/licenses?/",
    ),
    (FileKind.LOCALE, r"/share/locale/|/lib/locale/|/share/i18n/|/locales?/|\.mo$|/gconv/"),
    (FileKind.TIME_ZONE, r"/zoneinfo/"),
    (FileKind.CERTIFICATES, r"/ca-certificates/|^/etc/(ssl|pki)/|/cacert\.pem$"),
    (FileKind.TERMINAL, r"/terminfo/"),
    (
        FileKind.TESTS,
        r"/(tests?|testing|idlelib/idle_test)/|/(test_[^/]*|conftest|[^/]*_test)\.pyc?$",
    ),
    (FileKind.HEADERS, r"/include/|\.(h|hpp|hh|cuh|inl)$"),
    (FileKind.STATIC_LIBRARY, r"\.(a|la|o|lib)$"),
    (FileKind.METADATA, r"\.(dist|egg)-info(/|$)"),
    (FileKind.BYTE_CODE, r"\.py[co]$"),
    (FileKind.STUBS, r"\.pyi$|/py\.typed$"),
    (FileKind.PYTHON, r"\.py$"),
    (FileKind.SHARED_LIBRARY, r"\.so(\.[\w.]+)?$"),
    (FileKind.CONFIGURATION, r"^/etc/"),
    (FileKind.PROGRAM, r"/s?bin/|/libexec/"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)


def kind_of_file(path: str) -> FileKind:
    """Return the kind of the file at a path of a tree; OTHER if unknown."""
    return next((kind for kind, pattern in _COMPILED if pattern.search(path)), FileKind.OTHER)
