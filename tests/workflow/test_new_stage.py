"""A whole new stage: new files, four edited ones, and its table is in the report."""

import csv
import shutil
import sys
from pathlib import Path

import pytest
from project import NOTHING_TO_DO, PROJECT, Project

NEW = Path(__file__).parent / "new_stage"
PARTS = (
    "Snakefile", "rules", "scripts", "conf", "src", "native", "docs", "benchmarks", "examples",
    "params.yaml", "dvc.yaml", "pyproject.toml", "README.md", "CONTRIBUTING.md",
    "tests/unit/test_packages.py", "tests/unit/test_documents.py",
    "tests/unit/workflow/test_stage_registry.py",
)  # fmt: skip
EDITS = {
    "src/trimtab/config/groups/experiment.py": (
        "    growth: Names = about(",
        '    words: Names = about("Names of files in `conf/text/`.", factory=list)\n',
    ),
    "docs/architecture.md": (
        "- growth: ",
        "- words: `words.parquet` (`WORDS`)\n",
    ),
    "CONTRIBUTING.md": ("      growth/  ", "      words/             how often words occur\n"),
    "dvc.yaml": ("      - results/growth:", "      - results/words: {persist: true}\n"),
}
MOST_EDITED = 4


@pytest.fixture
def extended(tmp_path: Path) -> Project:
    """A copy of this project with the stage of the folder new_stage; byte code is copied, too."""
    folder = tmp_path / "project"
    for name in PARTS:
        ignored = shutil.ignore_patterns(
            "*.egg-info", *(["results"] if name == "benchmarks" else [])
        )
        source, copy = PROJECT / name, folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=ignored)
        else:
            shutil.copy2(source, copy)
    (folder / "build").symlink_to(PROJECT / "build")
    shutil.copytree(NEW, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, new) in EDITS.items():
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_text(text.replace(before, f"{new}{before}", 1))
    page = folder / "docs/architecture.md"
    page.write_text(page.read_text().replace("│ growth       ", "│ growth words ", 1))
    dvc = folder / "dvc.yaml"
    dvc.write_text(dvc.read_text().replace("results/growth ", "results/growth results/words ", 1))
    return Project(folder)


def test_it_edits_four_files_and_its_table_is_in_the_report(extended: Project) -> None:
    copies = [path for path in extended.folder.rglob("*") if path.is_file()]
    originals = {path: PROJECT / path.relative_to(extended.folder) for path in copies}
    edited = {
        str(path.relative_to(extended.folder))
        for path, original in originals.items()
        if original.is_file() and original.read_bytes() != path.read_bytes()
    }
    assert edited == EDITS.keys() and len(edited) <= MOST_EDITED

    here = {"PYTHONPATH": str(extended.folder / "src")}
    overrides = 'overrides=["experiment=counted"]'
    command = ("snakemake", "--cores", "1", "evaluate", "--config", overrides)
    done = extended.run(*command, **here)
    assert done.returncode == 0, done.stdout
    results = extended.folder / "results"
    with (results / "evaluate/counted/tables/words.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["text", "word", "occurrences"], ["poem", "the", "2"], ["poem", "end", "1"],
        ]  # fmt: skip
    page = (results / "evaluate/counted/report.html").read_text()
    assert '<h2 id="words">The words of texts</h2>' in page
    assert NOTHING_TO_DO in extended.run(*command, **here).stdout

    (extended.folder / "conf/text/poem.yaml").write_text("name: poem\nwords: [other]\n")
    said = extended.run("snakemake", "-n", *command[1:], **here).stdout
    assert "rule count_words:" in said
    assert 'text.words: ["the", "end", "the"] -> ["other"]' in said


def test_the_packages_and_the_documents_hold(extended: Project) -> None:
    tests = [part for part in PARTS if part.startswith("tests/")]
    chosen = "not links_lead and not named_paths_exist"  # to what was not copied
    done = extended.run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *tests,
        PYTHONPATH=str(extended.folder / "src"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
