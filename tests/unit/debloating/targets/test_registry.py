"""A module of `targets` is a kind by being there, and is asked for by its name."""

import inspect
import sys
from pathlib import Path

import pytest

from trimtab.config.fields import MistakeError
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.validate import checked
from trimtab.debloating import targets
from trimtab.debloating.targets.base import Target
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.debloating.targets.registry import target_at, target_class, target_of
from trimtab.errors import UserError

VENV = PythonPrefix(Path(sys.prefix))


def workload(name: str = "w", **keys: object) -> Workload:
    given = {"name": name, "command": ["python"], "python": sys.executable, **keys}
    return checked(given, Workload)


@pytest.mark.parametrize("kind", ["base", "registry", "folder", "nothing"])
def test_what_is_no_kind_is_refused_with_those_that_are(kind: str) -> None:
    with pytest.raises(UserError, match=f"'{kind}' given, expected one of .*python_prefix"):
        target_class(kind)


def test_a_module_that_is_put_there_is_a_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = inspect.getsource(sys.modules[PythonPrefix.__module__])
    (tmp_path / "another_kind.py").write_text(source.replace("PythonPrefix", "AnotherKind"))
    monkeypatch.setattr(targets, "__path__", [*targets.__path__, str(tmp_path)])
    kind = TargetConfig(kind="another_kind")
    target = target_of("t", [Workload("w", ["python"], python=sys.executable, target=kind)])
    assert target.describe().kind == "another_kind" and target.root == VENV.root
    assert target_at(target.describe()) == target


def test_a_target_is_where_its_manifest_says() -> None:
    target = target_of("t", [workload("a"), workload("b")])
    assert target == target_at(target.describe()) == VENV
    assert isinstance(target, Target)


def test_workloads_of_several_environments_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "bin/python"
    other.parent.mkdir()
    other.touch(0o755)
    with pytest.raises(UserError, match=rf"target t: .* \(a in .*, b in {tmp_path}\)"):
        target_of("t", [workload("a"), workload("b", python=str(other))])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"python": None}, "python: None given, expected an interpreter, or a `target`"),
        ({"target": {"kind": "nothing"}}, "target.kind: 'nothing' given, expected a module of"),
        ({"target": {"kind": "../x"}}, "target.kind"),
        ({"target": {"kind": "python_prefix", "place": "x"}}, "target.place"),
    ],
)
def test_mistakes_of_a_workload_are_named(keys: dict[str, object], said: str) -> None:
    with pytest.raises(MistakeError, match=said):
        workload(**keys)


def test_a_python_environment_needs_its_interpreter() -> None:
    given = workload(python=None, target={"location": "somewhere"})
    with pytest.raises(UserError, match="workload w: python: missing"):
        target_of("t", [given])
