"""What of small roots stays, rule by rule, and why."""

from collections.abc import Iterable

import pytest
from hand_made_root import FOLDER, Content, Link, Program, elf, missing, root_of, used

from trimtab.debloating.files.closure import PathUse, kept_paths
from trimtab.debloating.files.closure_rules import KeepReason
from trimtab.errors import UserError

LOADER = "/lib64/ld-linux-x86-64.so.2"
SITE = "/usr/lib/python3.11/site-packages"


def kept(
    contents: dict[str, Content],
    *traces: Iterable[PathUse],
    also: Iterable[str] = (),
    **variables: str,
) -> set[str]:
    """The files and links that stay; folders are above them, or said by those that ask."""
    return set(kept_paths(root_of(contents), traces, also, variables)) - {"/"}


def test_what_was_used_stays_with_every_link_and_folder_on_the_way() -> None:
    root: dict[str, Content] = {
        "/bin": Link("usr/bin"),
        "/usr/bin/editor": Link("/etc/alternatives/editor"),
        "/etc/alternatives/editor": Link("/usr/bin/vim"),
        "/usr/bin/vim": "v",
        "/usr/bin/other": "o",
    }
    found = kept_paths(root_of(root), [used("/bin/editor")])
    assert set(found) == {
        *("/", "/bin", "/usr", "/usr/bin", "/usr/bin/editor", "/etc", "/etc/alternatives"),
        *("/etc/alternatives/editor", "/usr/bin/vim"),
    }
    assert found.reasons["/usr/bin/vim"][KeepReason.USED] == ""
    assert (
        found.reasons["/usr/bin/vim"][KeepReason.LINK] == "/bin"
        or KeepReason.LINK in (found.reasons["/usr/bin/vim"])
    )
    assert KeepReason.PARENT in found.reasons["/etc"]


def test_of_a_missing_path_its_folder_stays_and_it_does_not_appear() -> None:
    root: dict[str, Content] = {"/var/lib/app/x": "x", "/opt/y": "y"}
    assert kept(root, missing("/var/lib/app/cache/file", "/opt/y")) == {
        *("/var", "/var/lib", "/var/lib/app", "/opt"),
    }
    assert kept(root, missing("/opt/y"), used("/opt/y")) == {"/opt", "/opt/y"}


def test_a_listed_folder_has_what_it_had_but_not_below() -> None:
    root: dict[str, Content] = {"/d/a": "a", "/d/b/c": "c", "/d/l": Link("b/c"), "/e": "e"}
    assert kept(root, used("/d", uses="list")) == {"/d", "/d/a", "/d/b", "/d/l", "/d/b/c"}
    del root["/d/l"]
    assert kept(root, used("/d", uses="list")) == {"/d", "/d/a", "/d/b"}


def test_a_script_stays_with_its_interpreter() -> None:
    root: dict[str, Content] = {
        "/run.sh": Program(b"#! /bin/sh -e\nls\n"),
        "/run.py": Program(b"#!/usr/bin/env -S A=1 python3 -u\n"),
        "/plain": "#!/bin/ksh\n",
        **{path: Program(b"x") for path in ("/bin/sh", "/bin/ksh", "/usr/bin/env", "/a/python3")},
        "/b/python3": Program(b"x"),
    }
    assert kept(root, used("/run.sh", "/plain")) == {"/run.sh", "/plain", "/bin", "/bin/sh"}
    assert kept(root, used("/run.py"), PATH="/c:/b:/a") == {
        *("/run.py", "/usr", "/usr/bin", "/usr/bin/env", "/b", "/b/python3"),
    }


def test_where_files_come_back_a_script_that_was_only_read_needs_no_interpreter() -> None:
    root: dict[str, Content] = {
        "/read.sh": Program(b"#!/bin/perl\n"),
        "/run.sh": Program(b"#!/bin/sh\n"),
        "/bin/perl": Program(b"x"),
        "/bin/sh": Program(b"x"),
    }
    traced = [*used("/read.sh", uses="read stat"), *used("/run.sh", uses="execute read")]
    tree = root_of(root)
    assert "/bin/perl" in kept_paths(tree, [traced])
    found = kept_paths(tree, [traced], comes_back=True)
    assert "/bin/sh" in found and "/bin/perl" not in found
    assert "/bin/perl" in kept_paths(tree, [traced], ["/read.sh"], comes_back=True)


def test_a_program_stays_with_its_linker_libraries_and_their_configuration() -> None:
    root: dict[str, Content] = {
        "/lib64": Link("usr/lib64"),
        "/usr/lib64/ld-linux-x86-64.so.2": Program(elf()),
        "/bin/program": Program(elf("liba.so.1", "libgone.so", interpreter=LOADER)),
        "/opt/lib/liba.so.1": Link("liba.so.1.5"),
        "/opt/lib/liba.so.1.5": elf("libb.so"),
        "/opt/lib/glibc-hwcaps/x86-64-v3/liba.so.1": elf(),
        "/opt/lib/libb.so": elf(machine=3, wide=False),  # of another machine: passed over
        "/usr/lib/x86_64-linux-gnu/libb.so": elf(),
        "/usr/lib/libb.so": elf(),
        "/usr/lib/libc.so": elf(),
        "/etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf # and more\ninclude ld.so.conf\n",
        "/etc/ld.so.conf.d/opt.conf": "/opt/lib/\n",
        "/etc/ld.so.conf.d/note": "/note\n",
        "/etc/ld.so.cache": "c",
    }
    files = {path for path in kept(root, used("/bin/program", uses="execute")) if path in root}
    assert files == root.keys() - {
        *("/opt/lib/libb.so", "/usr/lib/libb.so", "/usr/lib/libc.so", "/etc/ld.so.conf.d/note"),
    }


@pytest.mark.parametrize("way", ["rpath", "runpath"])
def test_run_paths_begin_at_the_file_and_only_rpath_is_inherited(way: str) -> None:
    root: dict[str, Content] = {
        "/app/bin/program": Program(elf("liba.so", interpreter=LOADER, **{way: "$ORIGIN/../lib"})),
        "/app/lib/liba.so": elf("libb.so"),
        "/app/lib/libb.so": elf(),
    }
    found = kept(root, used("/app/bin/program"))
    assert "/app/lib/liba.so" in found
    assert ("/app/lib/libb.so" in found) == (way == "rpath")
    assert "/app/lib/libb.so" in kept(root, used("/app/bin/program"), LD_LIBRARY_PATH="/app/lib")


def test_a_library_that_was_only_looked_at_has_no_claims() -> None:
    root: dict[str, Content] = {"/usr/lib/liba.so": elf("libb.so"), "/usr/lib/libb.so": elf()}
    assert "/usr/lib/libb.so" not in kept(root, used("/usr/lib/liba.so", uses="stat"))
    assert "/usr/lib/libb.so" in kept(root, used("/usr/lib/liba.so", uses="map_execute"))
    assert "/usr/lib/libb.so" in kept(root, also=["/usr/lib/liba.so"])


def test_what_a_system_has_though_nobody_opened_it() -> None:
    root: dict[str, Content] = {
        "/etc/passwd": "me:x:1:1::/home/me:/bin/sh\nbad line\nx:x:2:2::/gone:/bin/sh\n",
        "/etc/group": "me:x:1:\n",
        "/etc/nsswitch.conf": "passwd: files sss [NOTFOUND=return]\n# group: ldap\nhosts: dns\n",
        "/usr/lib/libc.so.6": elf(),
        "/usr/lib/libnss_sss.so.2": elf("libtalloc.so"),
        "/usr/lib/libtalloc.so": elf(),
        "/usr/lib/libnss_ldap.so.2": elf(),
        "/usr/lib/libgcc_s.so.1": elf(),
        "/usr/lib/locale/C.utf8/LC_CTYPE": "c",
        "/usr/lib/locale/de_DE.utf8/LC_CTYPE": "d",
        "/home/me/file": "f",
        "/proc": FOLDER,
        "/tmp": FOLDER,
        "/etc/localtime": Link("/usr/share/zoneinfo/Europe/Bern"),
        "/usr/share/zoneinfo/Europe/Bern": "TZif",
        "/usr/share/zoneinfo/Europe/Rome": "TZif",
        "/sbin": Link("usr/sbin"),
        "/usr/sbin/x": "x",
        "/etc/os-release": Link("../usr/lib/os-release"),
        "/usr/lib/os-release": "ID=debian\n",
    }
    found = kept(root, used("/usr/lib/libc.so.6", uses="map_execute"))
    gone = {
        *("/usr/lib/libnss_ldap.so.2", "/usr/lib/locale/de_DE.utf8/LC_CTYPE", "/home/me/file"),
        *("/usr/share/zoneinfo/Europe/Rome", "/usr/sbin/x"),
    }
    assert root.keys() - found == gone
    assert "/home/me" in found and "/usr/sbin" in found


def test_a_locale_stays_whole_terminals_and_certificates_with_who_asks_for_them() -> None:
    root: dict[str, Content] = {
        "/usr/lib/locale/de_DE.utf8/LC_CTYPE": "d",
        "/usr/lib/locale/de_DE.utf8/LC_MESSAGES/SYS_LC_MESSAGES": "d",
        "/usr/lib/locale/fr_FR.utf8/LC_CTYPE": "f",
    }
    assert "/usr/lib/locale/de_DE.utf8/LC_MESSAGES/SYS_LC_MESSAGES" in kept(
        root, used("/usr/lib/locale/de_DE.utf8/LC_CTYPE")
    )
    root = {
        "/lib/libtinfo.so.6": elf(),
        "/lib/terminfo/x/xterm": "x",
        "/lib/terminfo/9/9term": "9",
        "/lib/libssl.so.3": elf(),
        "/etc/ssl/certs/0a1b.0": Link("/usr/share/ca-certificates/one.crt"),
        "/usr/share/ca-certificates/one.crt": "1",
        "/usr/share/ca-certificates/two.crt": "2",
    }
    trace = used("/lib/libtinfo.so.6", "/lib/libssl.so.3", uses="map_execute")
    assert root.keys() - kept(root, trace) == {
        "/lib/terminfo/9/9term",
        "/usr/share/ca-certificates/two.crt",
    }


PYTHON: dict[str, Content] = {
    f"{SITE}/one/__init__.py": "",
    f"{SITE}/one/__pycache__/__init__.cpython-311.pyc": "c",
    f"{SITE}/one/__pycache__/part.cpython-311.pyc": "c",
    f"{SITE}/one/__pycache__/part.cpython-311.opt-1.pyc": "c",
    f"{SITE}/one/__pycache__/other.cpython-311.pyc": "c",
    f"{SITE}/one/part.py": "",
    f"{SITE}/one/other.py": "",
    f"{SITE}/one/table.csv": "1,2",
    f"{SITE}/one/data/words.txt": "w",
    f"{SITE}/one-1.0.dist-info/METADATA": "Name: one\n",
    f"{SITE}/one-1.0.dist-info/entry_points.txt": "",
    f"{SITE}/one-1.0.dist-info/licenses/LICENSE": "",
    f"{SITE}/one-1.0.dist-info/RECORD": "one/__init__.py,,\none/part.py,,\n",
    f"{SITE}/two/__init__.py": "",
    f"{SITE}/two-1.0.dist-info/METADATA": "Name: two\n",
    f"{SITE}/two-1.0.dist-info/top_level.txt": "two\n",
}


def test_a_module_stays_with_its_package_byte_code_and_metadata() -> None:
    gone = {
        *(f"{SITE}/one/__pycache__/part.cpython-311.opt-1.pyc", f"{SITE}/one/other.py"),
        *(f"{SITE}/one/__pycache__/other.cpython-311.pyc", f"{SITE}/one/table.csv"),
        *(f"{SITE}/one/data/words.txt", f"{SITE}/one-1.0.dist-info/licenses/LICENSE"),
        *(path for path in PYTHON if "/two" in path),
    }
    for used_path in ("one/part.py", "one/__pycache__/part.cpython-311.pyc"):
        assert PYTHON.keys() - kept(PYTHON, used(f"{SITE}/{used_path}")) == gone


def test_a_start_of_python_in_another_locale_and_with_other_options() -> None:
    """What it imports, and finds itself by, before anything can come back."""
    library = "/opt/env/lib/python3.11"
    root: dict[str, Content] = {
        f"{library}/{name}": "x"
        for name in (
            *("site.py", "os.py", "warnings.py", "traceback.py", "re/__init__.py", "re/_parser.py"),
            *("encodings/__init__.py", "encodings/ascii.py", "encodings/cp1252.py", "csv.py"),
            *("encodings/__pycache__/ascii.cpython-311.pyc", "re/data.txt", "test/warnings.py"),
            "lib-dynload/_x.cpython-311-x86_64-linux-gnu.so",
        )
    }
    started = used(f"{library}/encodings/__init__.py")
    names = {path.removeprefix(f"{library}/") for path in kept(root, started)}
    assert names >= {"warnings.py", "traceback.py", "re/_parser.py", "encodings/cp1252.py"}
    assert "encodings/__pycache__/ascii.cpython-311.pyc" in names
    assert names >= {"os.py", "lib-dynload"}
    assert not names & {"site.py", "csv.py", "re/data.txt", "test/warnings.py"}
    other = used(f"{library}/os.py")  # an installation that nobody started
    assert not any("warnings" in path for path in kept(root, other))
    from_the_first_call = kept_paths(root_of(root), [started], comes_back=True)
    assert f"{library}/encodings/__init__.py" in from_the_first_call
    assert not {f"{library}/{name}" for name in ("os.py", "warnings.py", "encodings/cp1252.py")} & (
        set(from_the_first_call)
    )


def test_a_folder_that_imports_listed_has_no_empty_packages() -> None:
    """A folder without modules would pass for a package, and an import succeed that failed."""
    found = kept(PYTHON, used(SITE, f"{SITE}/one", uses="list"))
    assert f"{SITE}/one/table.csv" in found
    assert not found & {f"{SITE}/two", f"{SITE}/one/data", f"{SITE}/one/part.py"}


def test_metadata_alone_keep_no_modules() -> None:
    found = kept(PYTHON, used(f"{SITE}/two-1.0.dist-info/METADATA"))
    assert f"{SITE}/two/__init__.py" not in found
    assert f"{SITE}/two-1.0.dist-info/top_level.txt" in kept(
        PYTHON, used(f"{SITE}/two/__init__.py")
    )


def test_an_environment_of_python_is_seen_by_its_own_path() -> None:
    tree = root_of(
        {
            "/bin/python": Link("/usr/bin/python3.11"),
            "/bin/tool": Program(b"#!/home/me/env/bin/python\n"),
            "/pyvenv.cfg": "",
            "/lib/python3.11/site-packages/one/__init__.py": "",
        },
        "/home/me/env",
    )
    trace = used("/home/me/env/bin/tool", "/usr/bin/python3.11", "/home/me/env-2/x")
    assert set(kept_paths(tree, [trace])) == {"/", "/bin", "/bin/tool", "/bin/python"}


def test_hostile_roots_take_no_time_without_end() -> None:
    """Includes of themselves, libraries that need each other, run paths that multiply."""
    root: dict[str, Content] = {
        "/etc/ld.so.conf": "include /etc/*\ninclude ld.so.conf\n" * 1000,
        "/bin/program": Program(elf("lib0.so", interpreter=LOADER, rpath="/a0:/a")),
        "/a/lib0.so": elf("lib1.so", "lib0.so"),
        "/a/lib1.so": elf("lib0.so", "../../x", "/etc/passwd"),
        "/etc/passwd": "x:x:1:1::/../../..:/bin/sh\n",
    }
    assert {"/a/lib0.so", "/a/lib1.so"} <= kept(root, used("/bin/program"))
    names = [f"lib{number}.so" for number in range(300)]
    root |= {f"/a/{name}": elf(*names, rpath=f"/only/{name}") for name in names}
    with pytest.raises(UserError, match=r"/bin/program: .*look-ups"):
        kept(root, used("/bin/program"))
