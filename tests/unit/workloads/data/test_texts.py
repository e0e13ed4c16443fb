import tarfile
from pathlib import Path

import numpy as np
import pytest

from trimtab.workloads.data import InputError, texts


@pytest.fixture(scope="module")
def manuals():
    return texts.load_newsgroups(None)


def test_manuals_are_twenty_topics_in_both_splits(manuals):
    assert manuals.classes == 20 and "20 topics" in manuals.name
    assert "in place of 20 Newsgroups" in manuals.source
    train, test = (
        np.bincount(split.labels, minlength=20) for split in (manuals.train, manuals.test)
    )
    assert (train >= 4 * test).all() and (test >= 5).all() and (train <= 4 * (test + 2)).all()
    assert manuals.train.inputs.shape == (len(manuals.train), texts.LENGTH)
    assert manuals.train.inputs.max() < manuals.tokens
    # Whatever is kept first has all topics.
    assert sorted(manuals.first(20, None).train.labels) == list(range(20))


def newsgroups(folder: Path, messages: dict[str, bytes]) -> Path:
    for name, content in messages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


MESSAGES = {
    "20news-bydate-train/sci.space/1": b"From: a\nSubject: moon\n\nMoon moon orbit 12",
    "20news-bydate-train/rec.autos/2": b"From: b\n\ncar road",
    "20news-bydate-test/sci.space/3": b"From: c\n\norbit caf\xe9 car",
    "20news-bydate-test/rec.autos/4": b"no header",
}


@pytest.mark.parametrize("packed", [False, True])
def test_newsgroups_are_read_as_they_are_published(tmp_path, packed):
    path = newsgroups(tmp_path / "folder", MESSAGES)
    if packed:
        with tarfile.open(tmp_path / "20news.tar.gz", "w:gz") as archive:
            archive.add(path, arcname=".")
        path = tmp_path / "20news.tar.gz"
    data = texts.load_newsgroups(path)
    assert (data.name, data.classes) == ("20 Newsgroups", 2)
    assert data.train.labels.tolist() == data.test.labels.tolist() == [0, 1]
    # Most frequent first, from 4 on; 3 is what training does not know. The header is left out.
    [autos, space] = data.train.inputs
    assert space[0] == space[1] == 4
    assert (space > 0).sum() == 4 and (autos > 0).sum() == 2
    assert data.test.inputs[1][:3].tolist() == [space[2], 3, autos[0]]
    assert data.tokens == 4 + 5


def test_newsgroups_that_are_none_are_refused(tmp_path):
    one_group = {"train/one/1": b"x", "test/one/2": b"y"}
    no_test = {"train/a/1": b"", "train/b/2": b""}
    for number, messages in enumerate(({}, one_group, no_test)):
        path = newsgroups(tmp_path / str(number), messages)
        path.mkdir(exist_ok=True)
        with pytest.raises(InputError, match=r"found no messages named .*train/<group>/<message>"):
            texts.load_newsgroups(path)
    with pytest.raises(InputError, match="neither a folder nor a tar archive"):
        texts.load_newsgroups(tmp_path / "nowhere")


def test_a_single_file_of_news_is_divided_by_class(tmp_path):
    path = tmp_path / "news.csv"
    path.write_text("".join(f'"{n % 4 + 1}","Title, {n}","a ""quoted"" text"\n' for n in range(40)))
    data = texts.load_ag_news(path)
    assert (data.name, data.classes) == ("AG News", 4)
    assert np.bincount(data.train.labels).tolist() == [8] * 4
    assert np.bincount(data.test.labels).tolist() == [2] * 4
    folder = tmp_path / "whole"
    folder.mkdir()
    (folder / "train.csv").write_text(path.read_text())
    (folder / "test.csv").write_text('"2","x","y"\n')
    data = texts.load_ag_news(folder)
    assert (len(data.train), data.test.labels.tolist()) == (40, [1])


@pytest.mark.parametrize(
    "content",
    [b"", b'"5","a","b"\n', b'"0","a","b"\n', b'"x","a","b"\n', b'"1","a"\n', b"\xff\xfe"],
)
def test_other_files_are_no_news(tmp_path, content):
    path = tmp_path / "news.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"news\.csv: .*expected (lines|items) of"):
        texts.load_ag_news(path)


def test_news_too_few_for_a_test_are_refused(tmp_path):
    path = tmp_path / "news.csv"
    path.write_text('"1","a","b"\n"2","a","b"\n')
    with pytest.raises(InputError, match="2 texts; expected 5 or more"):
        texts.load_ag_news(path)
