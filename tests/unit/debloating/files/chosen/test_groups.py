"""Groups: each path in at most one, and one that is kept has all of its files, with their needs."""

import pytest
from hand_made_root import Content, Link, Program, elf, root_of

from trimtab.config.groups.debloat import Debloat, Group, Remove
from trimtab.debloating.files.chosen.groups import executed_in, group_of, paths_of_groups
from trimtab.debloating.removal import Removal
from trimtab.records.usage import Usage, UsedFile

LOADER = "/lib64/ld-linux-x86-64.so.2"
ROOT: dict[str, Content] = {
    "/bin": Link("usr/bin"),
    "/usr/bin/server": Program(elf("libc.so.6", interpreter=LOADER)),
    "/usr/bin/bash": Program(elf("libc.so.6", "libtinfo.so.6", interpreter=LOADER)),
    "/usr/bin/sh": Link("bash"),
    "/usr/bin/dpkg": Program(elf("libc.so.6", interpreter=LOADER)),
    "/usr/lib/libtinfo.so.6": Program(elf("libc.so.6")),
    "/usr/lib/libc.so.6": Program(elf()),
    LOADER: Program(elf()),
    "/usr/lib/server/module.so": Program(elf("libc.so.6")),
    "/usr/share/locale/de/LC_MESSAGES/server.mo": "de",
    "/usr/share/zoneinfo/Asia/Tokyo": "jst",
    "/usr/share/terminfo/v/vt52": "vt",
    "/usr/share/man/man8/server.8": "man",
    "/usr/share/doc/server/copyright": "free",
    "/usr/share/ca-certificates/mozilla/one.crt": "cert",
    "/etc/shadow": "root:*:",
    "/etc/apt/sources.list": "deb",
    "/home/someone/.profile": "p",
    "/home/someone/mail": "m",
    "/srv/data": "d",
    "/var/lib/dpkg/info/server.list": (
        "/usr/bin/server\n/usr/lib/server/module.so\n/usr/share/man/man8/server.8\n"
    ),
}
RUN = Usage(
    workload="w", command=["server"], complete=True, files_complete=True,
    files=[
        UsedFile("/bin/server", "/usr/bin/server", ["execute", "read"]),
        UsedFile("/srv/data", "/srv/data", ["read"]),
        UsedFile("/usr/bin/bash", None, ["execute", "read"]),  # as what was missed is told
    ],
)  # fmt: skip


def removal(*groups: Group, **options: object) -> Removal:
    given = Debloat(name="x", remove=Remove.FILES, keep=list(groups), **options)  # type: ignore[arg-type]
    return Removal.of(root_of(ROOT), [RUN], [], [], given)


@pytest.mark.parametrize(
    ("group", "brings"),
    [
        (Group.LOCALES, {"/usr/share/locale/de/LC_MESSAGES/server.mo"}),
        (Group.TIME_ZONES, {"/usr/share/zoneinfo/Asia/Tokyo"}),
        (Group.TERMINALS, {"/usr/share/terminfo/v/vt52"}),
        (Group.CERTIFICATES, {"/usr/share/ca-certificates/mozilla/one.crt"}),
        (Group.DOCUMENTATION, {"/usr/share/man/man8/server.8"}),
        (Group.LICENCES, {"/usr/share/doc/server/copyright"}),
        (Group.USERS, {"/etc/shadow", "/home/someone/mail"}),
        (Group.PACKAGE_MANAGERS, {"/usr/bin/dpkg", "/etc/apt/sources.list",
                                  "/var/lib/dpkg/info/server.list"}),
        (Group.OPTIONS, {"/usr/lib/server/module.so", "/usr/share/man/man8/server.8"}),
    ],
)  # fmt: skip
def test_a_group_brings_its_files_and_no_others(group: Group, brings: set[str]) -> None:
    without, with_it = removal(), removal(group)
    files = {path for path in ROOT if path != "/bin"}
    assert (set(with_it.kept) - set(without.kept)) & files == brings
    assert not set(without.kept) - set(with_it.kept)


def test_a_shell_comes_with_what_it_needs_to_start() -> None:
    kept = removal(Group.SHELL).kept
    assert {"/usr/bin/bash", "/usr/bin/sh", "/usr/lib/libtinfo.so.6"} <= set(kept)
    assert "/home/someone/.profile" in kept and "/home/someone/mail" not in kept
    assert "/usr/bin/dpkg" not in kept


def test_all_groups_are_all_but_what_is_of_none() -> None:
    gone = set(ROOT) - set(removal(*Group).kept)
    assert {group_of(path) for path in gone} <= {None}


def test_the_table_says_which_group_would_have_it_stay() -> None:
    chosen = removal()
    rows = {f"/{row['path']}": row for row in chosen.rows("t", "h")}
    assert rows["/usr/share/man/man8/server.8"]["group"] == "documentation"
    assert rows["/usr/lib/server/module.so"]["group"] == "options"
    assert rows["/srv/data"]["group"] == rows["/usr"]["group"] == ""
    for group in Group:
        named = {path for path, row in rows.items() if row["group"] == group}
        executed = executed_in(chosen.tree, [RUN])
        assert named <= set(paths_of_groups(chosen.tree, {group}, executed))


def test_what_was_missed_is_no_program_of_the_user() -> None:
    """Of it only the file comes back, and not its package."""
    assert executed_in(root_of(ROOT), [RUN]) == {"/usr/bin/server"}


def test_paths_and_groups_add_up() -> None:
    both = removal(Group.LOCALES, keep_paths=["/home/**"]).kept
    assert set(both) == set(removal(Group.LOCALES).kept) | set(removal(keep_paths=["/home"]).kept)
    assert "/home/someone/.profile" in both
