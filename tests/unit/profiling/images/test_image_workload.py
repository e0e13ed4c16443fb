"""What a workload of an image runs, as `docker run` has it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from handmade import entry, layer, oci_image

from trimtab.config.fields import MistakeError
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.validate import checked
from trimtab.errors import UserError
from trimtab.profiling.images.image_workload import in_its_root

IMAGE = {
    "Entrypoint": ["/bin/python", "-u"],
    "Cmd": ["main.py", "--all"],
    "Env": ["PATH=/opt/bin:/bin", "A=b=c", "EMPTY=", "nothing"],
    "User": "33:44",
    "WorkingDir": "/srv",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def workload_of(tmp_path: Path, config: dict[str, Any], **given: Any) -> Workload:
    image = oci_image(tmp_path / "image.tar", layer(entry("file")), config=config)
    target = TargetConfig(kind="image", location=str(image))
    return Workload(**{"name": "program", "command": [], "target": target, **given})


def test_the_image_says_all(tmp_path: Path) -> None:
    found = in_its_root(workload_of(tmp_path, IMAGE))
    assert found.command == ["/bin/python", "-u", "main.py", "--all"]
    assert found.env == {"PATH": "/opt/bin:/bin", "A": "b=c", "EMPTY": ""}
    assert (found.user, found.workdir) == ("33:44", "/srv")
    assert found.target.kind == "root_folder" and Path(found.target.location or "").is_dir()


def test_the_workload_says_otherwise(tmp_path: Path) -> None:
    given = {"command": ["other.py"], "env": {"A": "x"}, "user": "0", "workdir": "/tmp"}
    found = in_its_root(workload_of(tmp_path, IMAGE, **given))
    assert found.command == ["/bin/python", "-u", "other.py"]
    assert found.env == {"PATH": "/opt/bin:/bin", "A": "x", "EMPTY": ""}
    assert (found.user, found.workdir) == ("0", "/tmp")


def test_an_image_that_says_nothing(tmp_path: Path) -> None:
    found = in_its_root(workload_of(tmp_path, {}, command=["/bin/x"]))
    assert (found.command, found.env, found.user, found.workdir) == (["/bin/x"], {}, None, "/")
    with pytest.raises(UserError, match="neither an entrypoint nor a command"):
        in_its_root(workload_of(tmp_path, {}))


def test_only_an_image_has_a_command_of_its_own(tmp_path: Path) -> None:
    workload = workload_of(tmp_path, IMAGE)
    folder = {"kind": "root_folder", "location": str(tmp_path)}
    with pytest.raises(MistakeError, match="at least one word"):
        checked({"name": "x", "command": [], "target": folder}, Workload)
    with pytest.raises(MistakeError, match="at least one word"):
        checked({"name": "x", "command": [" "], "target": vars(workload.target)}, Workload)
    assert replace(workload, command=["x"]).command == ["x"]
