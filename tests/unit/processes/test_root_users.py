"""Users of a root are looked up in the root, as container engines do."""

from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.processes.as_user import User
from trimtab.processes.root import RootFileSystem
from trimtab.processes.root_users import user_in

PASSWD = "root:x:0:0::/root:/bin/sh\nweb:x:33:44:Web:/srv:/bin/false\n7:x:70:71::/seven:\nodd:x\n"
GROUP = "root:x:0:\nweb:x:44:\nlogs:x:50:other,web\ndata:x:51:web\nempty:x:52:\n"


@pytest.fixture
def root(tmp_path: Path) -> RootFileSystem:
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/usr").mkdir()
    (tmp_path / "root/usr/passwd").write_text(PASSWD)
    (tmp_path / "root/etc/passwd").symlink_to("/usr/passwd")  # of the root, not of the machine
    (tmp_path / "root/etc/group").write_text(GROUP)
    return RootFileSystem(tmp_path / "root")


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("web", User("web", 33, 44, (50, 51), "/srv")),
        ("33", User("web", 33, 44, (50, 51), "/srv")),
        ("web:logs", User("web", 33, 50, (), "/srv")),
        ("web:60", User("web", 33, 60, (), "/srv")),
        ("7", User("7", 70, 71, (), "/seven")),  # a name before a number
        ("1234", User("1234", 1234, 0, (), "/")),
        ("1234:2345", User("1234", 1234, 2345, (), "/")),
        ("0", User("root", 0, 0, (), "/root")),
    ],
)
def test_what_names_a_user(root: RootFileSystem, text: str, user: User) -> None:
    assert user_in(root, text) == user


@pytest.mark.parametrize(
    "text",
    ["", ":", "absent", "odd", "web:absent", "-1", "4294967295", "9" * 5000, "0" * 12, "web:", "٣"],
)
def test_what_names_none(root: RootFileSystem, text: str) -> None:
    with pytest.raises(UserError, match="there is no such user or group"):
        user_in(root, text)


def test_a_root_may_have_no_users_or_wrong_files(tmp_path: Path) -> None:
    root = RootFileSystem(tmp_path)
    assert user_in(root, "5:6") == User("5", 5, 6, (), "/")
    (tmp_path / "etc/passwd").mkdir(parents=True)
    with pytest.raises(UserError, match="/etc/passwd"):
        user_in(root, "5")
