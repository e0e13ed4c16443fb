"""Groups of files that another use than the profiled one would need; each can be kept by name.

Place and name of a path decide its group. The group `options` has all files of a package of which a
run executed a program: the program may need them with other options.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from trimtab.config.groups.debloat import Group
from trimtab.debloating.files.kinds_of_files import FileKind, kind_of_file
from trimtab.debloating.files.packages import packages_of
from trimtab.debloating.files.removed_files import CountedFile
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType
from trimtab.records.usage import Usage

_KINDS = {
    FileKind.LOCALE: Group.LOCALES,
    FileKind.TIME_ZONE: Group.TIME_ZONES,
    FileKind.TERMINAL: Group.TERMINALS,
    FileKind.CERTIFICATES: Group.CERTIFICATES,
    FileKind.DOCUMENTATION: Group.DOCUMENTATION,
}
_BIN = r"/s?bin/"
_SHELLS = (
    r"(?:ba|da|z|k|mk|a)?sh|rbash|busybox|ls|dir|cat|cp|mv|rm|ln|mkdir|rmdir|touch|chmod|chown|pwd"
    r"|echo|printf|env|printenv|test|\[|true|false|head|tail|less|more|pager|grep|[ef]grep|sed"
    r"|[gm]?awk|find|xargs|sort|uniq|wc|cut|tr|tee|date|sleep|ps|top|kill|df|du|stat|readlink"
    r"|realpath|basename|dirname|which|id|whoami|hostname|uname|tty|stty|clear|reset|tput"
    r"|vi|vim\.tiny|nano"
)
_MANAGERS = (
    r"apt(?:-\w+)*|dpkg(?:-\w+)*|apk|rpm\w*|(?:micro)?dnf\d?|yum|zypper|pacman"
    r"|pip[\d.]*|conda|mamba|micromamba|npm|npx|corepack|gpgv"
)
_USERS = (
    r"login|su|sudo|id|whoami|groups|getent|passwd|newgrp|chage|useradd|groupadd|usermod|nologin"
)
# The first match counts.
_PATTERNS = (
    (
        Group.LICENCES,
        r"(?i:/(?:copyright|licen[cs]es?|copying|notice|authors)(?:[._-][^/]*)?(?:\Z|/))"
        r"|\A/usr/share/common-licenses/",
    ),
    (
        Group.PACKAGE_MANAGERS,
        rf"{_BIN}(?:{_MANAGERS})\Z|\A/etc/(?:apt|dpkg|apk|dnf|yum|yum\.repos\.d|rpm|conda)/"
        r"|\A/(?:usr/)?lib/(?:apt|dpkg|apk|rpm|sysimage/rpm)/|\A/usr/share/(?:dpkg|keyrings)/"
        r"|\A/var/(?:lib|cache)/(?:dpkg|apt|rpm|dnf|pacman)/|\A/var/log/apt/|/conda-meta/"
        r"|/(?:site|dist)-packages/pip(?:-[^/]*\.dist-info)?/|/ensurepip/|/node_modules/npm/"
        r"|/libapt-\w+\.so",
    ),
    (
        Group.SHELL,
        rf"{_BIN}(?:{_SHELLS})\Z|\A/etc/(?:profile|bash\.bashrc|shells|inputrc|environment)\Z"
        r"|\A/etc/(?:profile\.d|alternatives)/"
        r"|\A/(?:root|home/[^/]+|etc/skel)/\.(?:profile|inputrc|(?:ba|z|k)sh[^/]*|\w*login|z\w+)\Z",
    ),
    (
        Group.USERS,
        rf"{_BIN}(?:{_USERS})\Z|\A/etc/(?:passwd|group|g?shadow|sub[ug]id)-?\Z"
        r"|\A/etc/(?:login\.defs|nsswitch\.conf|pam\.conf|pam\.d/|security/|default/useradd|skel/)"
        r"|\A/(?:home|root)/|/libnss_[^/]*\.so|/security/pam_[^/]*\.so|/libpam\w*\.so",
    ),
)
_COMPILED = tuple((group, re.compile(pattern)) for group, pattern in _PATTERNS)


def group_of(path: str) -> Group | None:
    """Return the group of a path of a tree by its place and name, or None."""
    for group, pattern in _COMPILED:
        if pattern.search(path):
            return group
    return _KINDS.get(kind_of_file(path))


def executed_in(tree: FileTree, usages: Iterable[Usage]) -> frozenset[str]:
    """Return the paths of the files of `tree` that `usages` saw executed."""
    ends = (
        tree.walk(file.real_path).end
        for usage in usages
        for file in usage.files
        if "execute" in file.uses and file.real_path is not None
    )
    return frozenset(end for end in ends if end is not None)


def groups_of(files: Collection[CountedFile], executed: Collection[str]) -> dict[str, Group]:
    """Return the group of each of `files` of a tree that is in a group, by path."""
    programs = {file.package for file in files if file.path in executed} - {""}
    named = {file.path: group_of(file.path) for file in files}
    found = {path: group for path, group in named.items() if group is not None}
    for file in files:
        if file.package in programs:
            found.setdefault(file.path, Group.OPTIONS)
    return found


def paths_of_groups(
    tree: FileTree, groups: Collection[Group], executed: Collection[str]
) -> Iterator[str]:
    """Yield the paths of `groups`, as programs see them, including links.

    For `options` these are all paths of the packages, even those that their place puts in another
    group.
    """
    packages = packages_of(tree) if Group.OPTIONS in groups else {}
    programs = {packages[path] for path in executed if path in packages}
    for path, node in tree.nodes.items():
        if node.kind is FileType.FOLDER:
            continue
        if group_of(path) in groups or packages.get(path) in programs:
            yield tree.seen(path)
