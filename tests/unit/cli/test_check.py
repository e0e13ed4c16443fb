"""`trimtab check`: a budget that is kept or not, for people and for scripts."""

import json
from pathlib import Path

import experiment_files as files
import pytest
from typer.testing import CliRunner, Result

from trimtab.cli.results.check import OVER_BUDGET, bytes_of
from trimtab.cli.verbs import command_line
from trimtab.errors import UserError

app = command_line()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment that is 24 MB on disk and 11 MB compressed."""
    return files.weigh(files.write_debloat(tmp_path_factory.mktemp("workspace")))


def check(*words: object) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, words)], terminal_width=200)


def test_a_budget_that_is_kept_is_quiet_and_says_what_is_there(workspace: Path) -> None:
    said = check(workspace, "--max-size", "24MB", "--max-compressed-size", "11MB")
    assert said.exit_code == 0
    assert "the whole environment, on disk" in said.stdout and said.stderr == ""
    assert said.stdout.index("the whole environment") < said.stdout.index("no run read")
    assert (
        "would bring more: files that no run read: at most 12.0 MB more, with --remove files"
        in (said.stdout)
    )


def test_a_budget_that_is_not_kept_ends_with_a_code_of_its_own(workspace: Path) -> None:
    said = check(workspace, "--max-size", "23.5MB", "--max-compressed-size", "10MB")
    assert said.exit_code == OVER_BUDGET
    assert said.stderr.splitlines() == [
        "failed: lenet5_train: 24.0 MB on disk, 0.5 MB over the 23.5 allowed",
        "failed: lenet5_train: 11.0 MB compressed, 1.0 MB over the 10.0 allowed",
    ]


def test_the_workspace_here_is_checked_where_none_is_named(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trimtab_workspace").symlink_to(workspace)
    assert check().stdout == check(workspace).stdout
    assert check("--max-size", "1MB").exit_code == OVER_BUDGET


def test_scripts_get_the_same_as_json(workspace: Path) -> None:
    said = check(workspace, "--max-size", "1MB", "--json")
    found = json.loads(said.stdout)
    assert said.exit_code == OVER_BUDGET and found["passed"] is False
    (environment,) = found["results"][0]["environments"]
    assert environment["disk"] == {"before_bytes": 40_000_000, "after_bytes": 24_000_000}
    assert len(environment["parts"]) == 7 and len(found["problems"]) == 1


def test_what_does_not_work_is_over_any_budget(tmp_path: Path) -> None:
    said = check(files.weigh(files.write_debloat(tmp_path, **files.FAILED)))
    assert said.exit_code == OVER_BUDGET and "verification failed" in said.stderr


def test_a_budget_for_what_was_not_weighed_is_a_mistake(tmp_path: Path) -> None:
    folder = files.weigh(files.write_debloat(tmp_path))
    (folder / "compressed.json").unlink()
    said = check(folder, "--max-compressed-size", "10MB")
    assert isinstance(said.exception, UserError) and "not weighed" in str(said.exception)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("400MB", 400_000_000), ("1.5GiB", 3 << 29), ("2 kB", 2000), ("0B", 0)],
)
def test_sizes(text: str, size_bytes: int) -> None:
    assert bytes_of("--max-size", text) == size_bytes


@pytest.mark.parametrize("text", ["", "MB", "150", "-1MB", "1e9", "400 parsecs", "4,5GB"])
def test_what_is_no_size_names_the_option(text: str) -> None:
    with pytest.raises(UserError, match=r"--max-size: .* such as \d+MB"):
        bytes_of("--max-size", text)


def test_a_number_without_a_unit_is_refused(tmp_path: Path) -> None:
    """150 bytes are not meant: every environment would be over them."""
    for option in ("--max-size", "--max-compressed-size"):
        said = check(files.weigh(files.write_debloat(tmp_path)), option, "150")
        assert isinstance(said.exception, UserError)
        assert f"{option}: '150' given" in str(said.exception)
        assert str(said.exception).endswith("such as 150MB")
