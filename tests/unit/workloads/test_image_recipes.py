"""The recipes of images: each workload's image has one, and it says exactly what goes in."""

import re
import subprocess
from pathlib import Path

import pytest

from trimtab.config import Configurations

ROOT = Path(__file__).parents[3]
RECIPES = ROOT / "examples/images"
SCRIPT = ROOT / "scripts/build_image.sh"
CONFIGURATIONS = Configurations(ROOT / "conf", ["experiment=images_thesis"])
WORKLOADS = [
    CONFIGURATIONS.option("workload", name) for name in CONFIGURATIONS.root.experiment.workloads
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_workloads_image_is_made_of_a_recipe(workload) -> None:
    image = Path(workload.target.location)
    assert image.parent == Path("build/images") and image.suffix == ".tar"
    wheels = RECIPES / f"pytorch/{image.stem}.txt"
    assert wheels.is_file() or (RECIPES / image.stem / "Containerfile").is_file()
    assert f"`{image.stem}`" in SCRIPT.read_text()
    [program] = [word for word in workload.command if word.startswith("/srv/")]
    if wheels.is_file():  # the recipe copies src to /srv
        assert (ROOT / "src" / Path(program).relative_to("/srv")).is_file()
    else:
        assert program in (RECIPES / image.stem / "Containerfile").read_text()


@pytest.mark.parametrize("wheels", sorted(RECIPES.glob("*/*.txt")), ids=lambda path: path.stem)
def test_versions_are_exact(wheels: Path) -> None:
    for line in wheels.read_text().splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==[\d.]+", line)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing", "nothing.tar"], "nothing: no such image; there are python, pytorch and"),
        (["../images/python", "p.tar"], "there are python, pytorch and pytorch_larger"),
        (["python"], "build_image.sh NAME ARCHIVE"),
        ([], "build_image.sh NAME ARCHIVE"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(
    words: list[str], said: str, tmp_path: Path
) -> None:
    done = subprocess.run([SCRIPT, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (1, 2) and said in done.stderr
    assert not list(tmp_path.iterdir())
