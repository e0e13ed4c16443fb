"""Which image a job has, by patterns of its name, user, group and queue."""

from pathlib import Path

import pytest
from small_queues import jobs_of

from trimtab.batch.readers.read import read_jobs
from trimtab.errors import UserError
from trimtab.worth.job_images import images_without_row, map_images

SACCT = (
    "JobID|JobName|User|Partition|Submit|Start|End|ElapsedRaw|NNodes|AllocCPUS|State|Container"
    "|Comment\n"
    "1|train-a|ann|gpu|2026-03-01T00:00:00|2026-03-01T00:00:00|2026-03-01T00:01:00|60|1|4|COMPLETED"
    "|a.sif|ignored\n"
    "2|serve|bob|cpu|2026-03-01T00:00:01|2026-03-01T00:00:01|2026-03-01T00:01:01|60|1|4|COMPLETED"
    "||b.sif\n"
    "3|train-b|bob|gpu|2026-03-01T00:00:02|2026-03-01T00:00:02|2026-03-01T00:01:02|60|1|4|COMPLETED"
    "||\n"
)


def mapped(tmp_path: Path, table: str, file: str = SACCT) -> list[str]:
    (tmp_path / "jobs.txt").write_text(file)
    (tmp_path / "map.csv").write_text(table)
    jobs = read_jobs(tmp_path / "jobs.txt").jobs
    return list(map_images(jobs, tmp_path / "jobs.txt", tmp_path / "map.csv")["image"])


def test_slurm_names_an_image_as_container_or_comment(tmp_path: Path) -> None:
    assert mapped(tmp_path, "image,name\nx,nothing\n") == ["a.sif", "b.sif", ""]


def test_the_first_row_that_fits_counts(tmp_path: Path) -> None:
    table = "image,name,user\nbobs,train*,bob\ntrains,train*,\nrest,,\n"
    assert mapped(tmp_path, table) == ["trains", "rest", "bobs"]


def test_patterns_are_of_the_whole_text(tmp_path: Path) -> None:
    table = "image,queue,name\none,gp,\ntwo,[c-d]pu,\nthree,gpu,?rain-b\n"
    assert mapped(tmp_path, table) == ["a.sif", "two", "three"]


def test_without_a_job_name_the_name_is_the_identity(tmp_path: Path) -> None:
    file = "id,submit,run,cores\n7_1,0,60,1\n8,1,60,1\n"
    assert mapped(tmp_path, "image,name\nx,7_*\n", file) == ["x", ""]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("name,user\na,b\n", "no column image"),
        ("image,partition\na,b\n", "unknown column 'partition'"),
        ("image,name\n,b\n", "2: image: empty"),
    ],
)
def test_hostile_maps(tmp_path: Path, table: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        mapped(tmp_path, table)


def test_images_without_a_row_are_counted() -> None:
    jobs = jobs_of([{"image": name} for name in ("a", "b", "b", "", "c")])
    assert dict(images_without_row(jobs, {"c"})) == {"b": 2, "a": 1}
