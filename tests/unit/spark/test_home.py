import importlib.util
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.spark import home


def test_the_folder_of_make_deps_spark_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = tmp_path / "pyspark" / "bin" / "spark-class"
    launcher.parent.mkdir(parents=True)
    launcher.touch()
    monkeypatch.setattr(home, "_BUILT", tmp_path)
    assert home.spark_home() == tmp_path / "pyspark"


def test_without_spark_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "_BUILT", tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="make deps-spark"):
        home.spark_home()


@pytest.mark.parametrize("home_is_set", [True, False])
def test_without_java_it_says_what_to_do(
    home_is_set: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if home_is_set:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UserError, match="make deps-spark"):
        home.java()


def test_java_home_is_taken_before_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("jdk/bin", "usr/bin"):
        java = tmp_path / folder / "java"
        java.parent.mkdir(parents=True)
        java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("PATH", str(tmp_path / "usr" / "bin"))
    assert home.java() == tmp_path / "jdk" / "bin" / "java"
