"""What a program names of its environment is taken from the copy; all else stays."""

from pathlib import Path

import pytest

from trimtab.processes.program import Driver, Program
from trimtab.profiling.runs.from_workload import moved


@pytest.fixture
def env(tmp_path: Path) -> Path:
    for file in ("env/bin/python", "env/bin/tool", "env/data/x", "env2/bin/tool", "work/a.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "other").symlink_to("env")
    return tmp_path / "env"


def program(env: Path, *command: str, **variables: str) -> Program:
    driver = Driver((str(env / "bin/tool"),), {"PATH": f"{env}/bin"}, "up", None)
    return Program(command, env.parent / "work", variables, 1.0, driver=driver)


def test_words_of_the_command_wherever_they_stand(env: Path) -> None:
    slim, top = env.parent / "slim", env.parent
    words = ["nice", f"{env}/bin/python", "../env/bin/tool", f"{top}/other/data/x", "a.py"]
    given = program(env, *words, f"{env}2/bin/tool", f"{env}/absent", str(env), "-")
    assert moved(given, env, slim).command == (
        "nice", f"{slim}/bin/python", f"{slim}/bin/tool", f"{slim}/data/x", "a.py",
        f"{env}2/bin/tool", f"{env}/absent", str(slim), "-",
    )  # fmt: skip


def test_variables_part_by_part_and_not_the_drivers(env: Path) -> None:
    slim = env.parent / "slim"
    given = program(env, "tool", PATH=f"{env}/bin::/usr/bin", VIRTUAL_ENV=str(env), A="bin")
    after = moved(given, env, slim)
    expected = {"PATH": f"{slim}/bin::/usr/bin", "VIRTUAL_ENV": str(slim), "A": "bin"}
    assert after.environment == expected and after.driver == given.driver


def test_an_environment_that_is_named_by_a_link(env: Path) -> None:
    link, slim = env.parent / "other", env.parent / "slim"
    given = program(env, f"{link}/bin/python", f"{env}/data/x")
    assert moved(given, link, slim).command == (f"{slim}/bin/python", f"{slim}/data/x")
