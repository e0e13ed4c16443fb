"""Data sets: what packages carry, and files of others, which end in an error where wrong."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.characterization.data import load
from trimtab.cli.doctor import missing
from trimtab.config.groups.learning.workload import DataFormat, LearningWorkload, Method
from trimtab.errors import UserError


def workload(data: str, method: Method, **values: object) -> LearningWorkload:
    return LearningWorkload(f"{data}_{method}", data, method, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "records", "features", "classes"),
    [
        ("iris", 150, 4, 3),
        ("wine", 178, 13, 3),
        ("breast_cancer", 569, 30, 2),
        ("digits", 1797, 64, 10),
    ],
)
def test_carried_data(data: str, records: int, features: int, classes: int) -> None:
    found = load(workload(data, Method.DECISION_TREE))
    assert found.features.shape == (records, features)
    assert found.held_out.sum() == records // 4
    assert set(found.labels) == set(range(classes)) == set(range(found.classes))
    trained = found.features[~found.held_out]
    assert np.allclose(trained.mean(axis=0), 0)
    assert set(trained.std(axis=0).round(6)) <= {0.0, 1.0}


@pytest.mark.skipif(bool(missing("Debian's data sets")), reason=missing("Debian's data sets"))
@pytest.mark.parametrize(
    ("data", "package", "records", "features", "by_class"),
    [
        ("letter_recognition", "r-cran-mlbench", 20_000, 16, {0: 789, 25: 734}),
        ("shuttle", "r-cran-mlbench", 58_000, 9, {0: 45_586, 5: 10, 6: 13}),
        ("spam", "r-cran-kernlab", 4_601, 57, {0: 2_788, 1: 1_813}),
        ("reuters_grain", "weka", 2_158, 256, {0: 1_998, 1: 160}),
    ],
)
def test_data_that_debian_carries(
    data: str, package: str, records: int, features: int, by_class: dict[int, int]
) -> None:
    """The numbers are those of the data sets' own descriptions (UCI), and of the texts' file."""
    found = load(workload(data, Method.DECISION_TREE))
    assert found.features.shape == (records, features)
    counts = dict(zip(*np.unique(found.labels, return_counts=True), strict=True))
    assert {each: counts[each] for each in by_class} == by_class
    assert f"of Debian's {package} " in found.source


@pytest.mark.skipif(bool(missing("Debian's data sets")), reason=missing("Debian's data sets"))
def test_texts_keep_their_own_test_part_and_are_weighed_by_the_other() -> None:
    found = load(workload("reuters_grain", Method.LOGISTIC_REGRESSION))
    assert found.held_out.sum() == 604 and not found.held_out[:1554].any()
    assert (found.features[~found.held_out].std(axis=0) > 0).all()


def test_data_of_debian_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.characterization.packaged_data_sets._BUILD", tmp_path)
    with pytest.raises(UserError, match=r"data set shuttle: not there yet; .*make deps-data"):
        load(workload("shuttle", Method.KMEANS))


def test_clusters_do_not_lie_around_zero_and_are_as_far_apart() -> None:
    """Or MLlib's bisecting k-means finds one cluster, whatever is asked for."""
    clustered = load(workload("wine", Method.BISECTING_KMEANS))
    classified = load(workload("wine", Method.DECISION_TREE))
    assert (clustered.features.mean(axis=0) > 0.1).all()
    moved = clustered.features - clustered.features[~clustered.held_out].mean(axis=0)
    assert np.allclose(moved, classified.features)


def test_what_is_predicted_keeps_its_scale() -> None:
    found = load(workload("diabetes", Method.LINEAR_REGRESSION))
    assert (found.classes, found.labels.min(), found.labels.max()) == (0, 25.0, 346.0)


def test_a_data_set_that_nobody_carries() -> None:
    with pytest.raises(UserError, match="data set higgs: no package carries it; expected a loc"):
        load(workload("higgs", Method.KMEANS))


@pytest.mark.parametrize("compressed", [False, True])
def test_csv_with_the_label_first(tmp_path: Path, compressed: bool) -> None:
    text = "".join(f"{label},{label * 2},7\n" for label in (3, 5) * 6).encode()
    path = tmp_path / ("it.csv.gz" if compressed else "it.csv")
    path.write_bytes(gzip.compress(text) if compressed else text)
    found = load(workload("it", Method.DECISION_TREE, location=str(path), label_column=0))
    assert found.labels.tolist() == [0, 1] * 6
    assert found.features.shape == (12, 2)
    assert found.source == str(path)


def test_libsvm(tmp_path: Path) -> None:
    path = tmp_path / "it.svm"
    path.write_text("1 1:0.5 3:2\n2 2:1\n" * 5)
    kind = DataFormat.LIBSVM
    found = load(workload("it", Method.DECISION_TREE, location=str(path), format=kind))
    assert found.features.shape == (10, 3)
    assert found.labels.tolist() == [0, 1] * 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no table of numbers"),
        ("a,b\n" * 9, "no table of numbers"),
        ("1,2\n1,2,3\n" * 9, "no table of numbers"),
        ("1,nan\n" * 9, "no finite number"),
        ("1,\n" * 9, "no finite number"),
        ("1,2\n" * 3, "8 records or more"),
        ("1\n" * 9, "with features"),
        ("1,2\n" * 9, "1 classes"),
    ],
)
def test_what_is_wrong_with_a_csv(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "it.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=said) as caught:
        load(workload("it", Method.DECISION_TREE, location=str(path)))
    assert str(path) in str(caught.value)


def test_a_label_column_that_there_is_not(tmp_path: Path) -> None:
    path = tmp_path / "it.csv"
    path.write_text("1,2\n" * 9)
    with pytest.raises(UserError, match="2 columns, the label's is to be 2"):
        load(workload("it", Method.KMEANS, location=str(path), label_column=2))


@given(st.binary(max_size=300), st.sampled_from(list(DataFormat)))
def test_junk_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, kind: DataFormat
) -> None:
    path = tmp_path_factory.mktemp("junk") / "it"
    path.write_bytes(junk)
    try:
        load(workload("it", Method.KMEANS, location=str(path), format=kind))
    except UserError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("kind", list(DataFormat))
def test_a_file_that_is_not_there(tmp_path: Path, kind: DataFormat) -> None:
    with pytest.raises(UserError, match="nowhere"):
        load(workload("it", Method.KMEANS, location=str(tmp_path / "nowhere"), format=kind))
