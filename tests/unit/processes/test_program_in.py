"""A workload's program in a root: its variables, user and folders are those of the root."""

import os
from pathlib import Path, PurePath
from typing import Any

import pytest

from trimtab.config.groups.workload import ServerConfig, TargetConfig, Workload
from trimtab.errors import UserError
from trimtab.processes.as_user import User
from trimtab.processes.program import Program
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.runs.from_workload import program_in


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "root"
    for folder in ("app", "etc", "usr/bin"):
        (top / folder).mkdir(parents=True)
    (top / "bin").symlink_to("usr/bin")
    for tool in ("usr/bin/tool", "app/python"):
        (top / tool).touch(mode=0o755)
    (top / "etc/passwd").write_text("root:x:0:0::/top:\nweb:x:33:44::/srv:\n")
    return top


def made(top: Path, inherited: dict[str, str] | None = None, **keys: Any) -> Program:
    target = TargetConfig("native_folder", str(top))
    workload = Workload(**{"name": "w", "command": ["tool"], "target": target, **keys})
    return program_in(RootFileSystem(top), workload, top.parent / "out", inherited)


def test_it_gets_what_an_engine_gives_and_nothing_of_ours(top: Path) -> None:
    program = made(top)
    assert program.environment == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/top",
    }
    assert program.workdir == Path("/") and program.user == User("root", 0, 0, (), "/top")
    changed = made(top, {"PATH": "/bin", "A": "1", "B": "2"}, env={"B": "3"}, workdir="app")
    assert changed.environment == {"PATH": "/bin", "HOME": "/top", "A": "1", "B": "3"}
    assert changed.workdir == Path("/app") and changed.own_variables == {"B"}


def test_python_and_output_are_placed(top: Path) -> None:
    out = (top.parent / "out").resolve()
    program = made(top, command=["python", "{output}/x"], python="/app/python")
    assert program.command == ("/app/python", f"{out}/x")
    assert program.environment["PATH"].startswith("/app:/usr/local/sbin:")
    assert program.root is not None and program.root.is_bound(PurePath(out / "x"))


def test_a_driver_is_looked_for_outside(top: Path) -> None:
    server = ServerConfig(drive=["true", "{output}"], address="localhost:1")
    program = made(top, server=server, env={"PATH": "/bin"})
    assert program.driver is not None and program.driver.workdir == Path.cwd()
    assert program.driver.environment["PATH"] == os.environ["PATH"]
    assert program.driver.command == ("true", str((top.parent / "out").resolve()))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"command": ["absent"]}, "command: absent was not found as a program on the PATH in"),
        ({"command": ["/etc/passwd"]}, "command: /etc/passwd was not found as a program"),
        ({"workdir": "/absent"}, "workdir: /absent is not a folder in the root"),
        ({"workdir": "/etc/passwd"}, "workdir: /etc/passwd is not a folder in the root"),
        ({"python": "/bin/python"}, "python: /bin/python does not exist in the root"),
        ({"user": "nobody"}, "user: nobody: there is no such user or group"),
    ],
)
def test_what_the_root_lacks(top: Path, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as raised:
        made(top, **keys)
    assert said in str(raised.value) and str(top) in str(raised.value)


def test_names_of_the_network_are_the_machines_where_the_root_has_none(top: Path) -> None:
    hosts, servers = Path("/etc/hosts"), Path("/etc/resolv.conf")
    if not (hosts.is_file() and servers.is_file()):
        pytest.skip("this machine has no names of the network")
    assert set(RootFileSystem(top).with_network_names().seen) == {hosts, servers}
    (top / "etc/hosts").touch()  # as images have it
    (top / "etc/resolv.conf").symlink_to("/run/absent")
    assert RootFileSystem(top).with_network_names().seen == (hosts,)
    (top / "etc/hosts").write_text("127.0.0.1 localhost\n")
    assert RootFileSystem(top).with_network_names().seen == ()
