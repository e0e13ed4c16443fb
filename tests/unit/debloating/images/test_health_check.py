"""A health check's programs stay, with what they need: no profiled run has seen them."""

import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hand_made_root import Content, Link, Program, elf, root_of
from hypothesis import given
from hypothesis import strategies as st
from machine_root import root_of_programs

from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.images.health_check import is_unserved, named_by_health_check
from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.fields import Fields
from trimtab.images.archives.image import Config
from trimtab.processes.root import ENGINES_PATH, RootFileSystem

LOADER = "/lib64/ld-linux-x86-64.so.2"
ROOT: dict[str, Content] = {
    LOADER: Program(elf()),
    "/bin": Link("usr/bin"),
    "/usr/bin/sh": Link("dash"),
    "/usr/bin/dash": Program(elf(interpreter=LOADER)),
    "/usr/bin/bash": Program(elf(interpreter=LOADER)),
    "/usr/bin/curl": Program(elf("libcurl.so.4", interpreter=LOADER)),
    "/usr/lib/libcurl.so.4": elf(),
    "/usr/local/bin/check": Program(b"#!/usr/bin/bash\n"),
    "/opt/bin/check": Program(b"#!/usr/bin/bash\n"),
    "/srv/check.py": "",
    "/srv/other": "",
    "/etc/check.conf": "",
}


def run_of(test: list[str], **config: Any) -> Any:
    values = {"config": {"Healthcheck": {"Test": test, "Interval": 30 * 10**9}, **config}}
    return Config(Fields(values), ()).run()


def named(test: list[str], **config: Any) -> set[str]:
    return named_by_health_check(root_of(ROOT), run_of(test, **config))


@pytest.mark.parametrize("test", [[], ["NONE"], ["CMD"], ["other", "curl"]])
def test_none(test: list[str]) -> None:
    assert named(test) == set()


def test_a_command_has_no_shell() -> None:
    assert named(["CMD", "curl", "-f", "http://localhost/"]) == {"/usr/bin/curl", "/bin/curl"}


def test_a_text_has_the_shell_and_each_program_in_it() -> None:
    text = 'out="$(curl -f http://localhost/ 2>/dev/null)"||{ bash -c check;exit 1; }'
    assert named(["CMD-SHELL", text]) == {
        *("/bin/sh", "/usr/bin/curl", "/bin/curl", "/usr/bin/bash", "/bin/bash"),
        "/usr/local/bin/check",
    }
    assert named(["CMD-SHELL", "exit 0"], Shell=["/bin/bash", "-o", "pipefail", "-c"]) == {
        "/bin/bash"
    }


def test_the_image_says_where_it_is_looked_for() -> None:
    check = ["CMD", "check", "--config=/etc/check.conf", "../srv/check.py", "check.py"]
    config = {"Env": ["PATH=/opt/bin:bin"], "WorkingDir": "/srv"}
    assert named(check, **config) == {
        *("/opt/bin/check", "/etc/check.conf", "/srv/../srv/check.py", "/srv/check.py")
    }
    assert named(["CMD", "check"]) == {"/usr/local/bin/check"}
    assert ENGINES_PATH.startswith("/usr/local/")


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (["CMD", "curl", "http://localhost/"], False),
        (["CMD", "ping"], True),
        (["CMD", "bin/ping"], True),  # from the working folder
        (["CMD", "/usr/local/bin/check"], False),
        (["CMD", "/opt/bin/checks"], True),
        (["CMD", "nothing"], False),
        (["CMD-SHELL", "ping"], False),  # a shell of glibc's has it started
        (["NONE"], False),
    ],
)
def test_which_checks_load_no_library(test: list[str], expected: bool) -> None:
    more: dict[str, Content] = {
        "/usr/bin/ping": Program(elf()),
        "/opt/bin/checks": Program(b"#!/usr/bin/ping -c 1\n"),
    }
    run = run_of(test, WorkingDir="/usr")
    assert is_unserved(root_of({**ROOT, **more}), run) == expected


def test_a_shell_that_loads_no_library() -> None:
    run = run_of(["CMD-SHELL", "curl http://localhost/"])
    assert is_unserved(root_of({**ROOT, "/usr/bin/dash": Program(elf())}), run)


def test_what_is_named_stays_with_what_it_needs() -> None:
    tree = root_of(ROOT)
    also = named_by_health_check(tree, run_of(["CMD-SHELL", "curl -f http://localhost/"]))
    kept = set(kept_paths(tree, [], also, comes_back=True))
    assert {"/bin", "/usr/bin/sh", "/usr/bin/dash", "/usr/bin/curl"} <= kept
    assert {"/usr/lib/libcurl.so.4", LOADER} <= kept
    assert not {"/usr/bin/bash", "/srv/other", "/usr/local/bin/check"} & kept


@given(st.lists(st.text(max_size=300)), st.text(), st.lists(st.text()), st.text())
def test_any_config_names_what_is_there(
    command: list[str], folder: str, environment: list[str], text: str
) -> None:
    try:
        run = run_of([text, *command], Env=environment, WorkingDir=folder, Shell=command)
        for form in (["CMD"], ["CMD-SHELL"], [text]):
            found = named([*form, *command], Env=environment, WorkingDir=folder)
            assert all(root_of(ROOT).file_at(path) is not None for path in found)
    except TrimtabError:
        return
    assert run.health_check == (text, *command)


def test_it_runs_in_a_root_with_nothing_else(tmp_path: Path) -> None:
    """As an engine runs it, where nothing comes back."""
    root, slim = tmp_path / "root", tmp_path / "slim"
    root_of_programs(root, ["sh", "grep", "sort", "wc", "tar"])
    run = run_of(["CMD-SHELL", "sort /etc/passwd | grep -q root && wc -l < /etc/passwd"])
    tree = root_tree(root)
    for path in sorted(kept_paths(tree, [], named_by_health_check(tree, run))):
        original = root / path[1:]
        if stat.S_ISDIR(original.lstat().st_mode):
            (slim / path[1:]).mkdir()
        else:
            shutil.copy2(original, slim / path[1:], follow_symlinks=False)
    command = [*run.shell, *run.health_check[1:]]
    try:
        process = RootFileSystem(slim).start(
            command, Path("/"), None, env={"PATH": ENGINES_PATH}, stdout=subprocess.PIPE
        )
    except UserError as error:
        pytest.skip(f"no root can be entered: {error}")
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, b"1\n")
    assert not (slim / "usr/bin/tar").exists()
