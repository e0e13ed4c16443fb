import gettext
import struct
from pathlib import Path

import django
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.workloads.data import InputError, translation
from trimtab.workloads.data.translation import (
    BEGIN,
    END,
    PLACEHOLDER,
    UNKNOWN,
    Vocabulary,
    read_catalogue,
    tokens_of,
)

CATALOGUES = sorted(Path(django.__file__).parent.rglob("locale/de/LC_MESSAGES/*.mo"))


def catalogue(messages: dict[str, str], order: str = "<") -> bytes:
    """A compiled catalogue laid out as the GNU gettext manual says."""
    rows = sorted((key.encode(), value.encode()) for key, value in messages.items())
    tables, texts = b"", b""
    start = 28 + 16 * len(rows)
    for column in (0, 1):
        for row in rows:
            tables += struct.pack(f"{order}2I", len(row[column]), start + len(texts))
            texts += row[column] + b"\0"
    header = (0x950412DE, 0, len(rows), 28, 28 + 8 * len(rows), 0, 28)
    return struct.pack(f"{order}7I", *header) + tables + texts


def test_django_pairs_are_many_apart_and_the_same_every_time():
    pairs = translation.load(None)
    assert len(pairs.train) > 600 and len(pairs.test) > 60
    assert abs(len(pairs.test) / (len(pairs.train) + len(pairs.test)) - 0.1) < 0.01
    assert pairs == translation.load(None)
    english = [tuple(source) for source, _ in pairs.train + pairs.test]
    assert len(set(english)) > 0.99 * len(english)
    assert not {tuple(s) for s, _ in pairs.train} & {tuple(s) for s, _ in pairs.test}
    assert f"{len(english)} pairs carried by Django {django.__version__}" == pairs.source
    assert (["Danish"], ["Dänisch"]) in pairs.train + pairs.test


def test_placeholders_stay_whole_and_reach_the_translation():
    pairs = translation.load(None)
    sides = [
        tuple({t for t in side if PLACEHOLDER.fullmatch(t)} for side in pair)
        for pair in pairs.train + pairs.test
    ]
    assert sum(bool(english) for english, _ in sides) > 80
    assert all(english == german for english, german in sides)


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: str(path.parts[-5]))
def test_catalogues_read_as_gettext_reads_them(path):
    with path.open("rb") as file:
        theirs = gettext.GNUTranslations(file)
    ours = list(read_catalogue(path))
    # gettext has no public way to list a catalogue; plural forms have pairs as keys there.
    messages = {key: text for key, text in theirs._catalog.items() if isinstance(key, str) and key}
    assert len(ours) > 3
    assert sorted(ours) == sorted((key.rpartition("\x04")[2], messages[key]) for key in messages)


@pytest.mark.parametrize("order", ["<", ">"])
def test_contexts_are_cut_and_plural_forms_left_out(tmp_path, order):
    path = tmp_path / "some.mo"
    messages = {"": "Language: de", "month\x04May": "Mai", "%d day\0%d days": "%d Tag\0%d Tage"}
    path.write_bytes(catalogue(messages | {"Yes": "Ja"}, order))
    assert sorted(read_catalogue(path)) == [("May", "Mai"), ("Yes", "Ja")]


@given(data=st.data())
@settings(max_examples=150)
def test_damaged_catalogues_are_refused_or_read_but_never_crash(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.mo"
    content = bytearray(catalogue({"Yes": "Ja", "month\x04May": "Mai", "No": "Nein"}))
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        for message, text in read_catalogue(path):
            assert isinstance(message, str) and isinstance(text, str)
    except InputError as error:
        assert "damaged.mo" in str(error)


@given(st.text())
def test_tokens_lose_nothing_but_blanks(text):
    assert "".join(tokens_of(text)) == "".join(text.split())


def test_tokens_of_a_sentence_with_every_kind_of_placeholder():
    text = "“%(name)s” has {count} of %s, do not?"
    expected = [
        "“",
        "%(name)s",
        "”",
        "has",
        "{count}",
        "of",
        "%s",
        ",",
        "do",
        "not",
        "?",
    ]
    assert tokens_of(text) == expected


def test_vocabulary_numbers_by_frequency_and_reads_back():
    vocabulary = Vocabulary([["a", "b", "b"], ["c", "b", "a"]])
    assert vocabulary.tokens[4:] == ["b", "a", "c"]
    encoded = vocabulary.encode(["c", "unseen", "b"])
    assert encoded == [BEGIN, 6, UNKNOWN, 4, END]
    assert vocabulary.decode([*encoded, 5, 5]) == "c <unknown> b"


@pytest.fixture
def multi30k(tmp_path):
    for split, english, german in (
        ("train", "A dog runs.\n\nTwo men talk.\n", "Ein Hund rennt.\nLeer.\nZwei Männer reden.\n"),
        ("test", "A man.\n", "Ein Mann.\n"),
    ):
        (tmp_path / f"{split}.en").write_text(english, encoding="utf-8")
        (tmp_path / f"{split}.de").write_text(german, encoding="utf-8")
    return tmp_path


def test_text_files_pair_by_line_without_empty_ones(multi30k):
    pairs = translation.load(multi30k)
    assert pairs.train == [
        (["A", "dog", "runs", "."], ["Ein", "Hund", "rennt", "."]),
        (["Two", "men", "talk", "."], ["Zwei", "Männer", "reden", "."]),
    ]
    assert pairs.test == [(["A", "man", "."], ["Ein", "Mann", "."])]
    assert pairs.name == f"English-German, {multi30k.name}" and str(multi30k) in pairs.source


def test_sentences_of_too_many_tokens_are_left_out(multi30k):
    (multi30k / "train.en").write_text("\n".join(["word " * 100, "word " * 101, "word"]))
    assert [len(source) for source, _ in translation.load(multi30k).train] == [100, 1]


def test_wrong_text_files_are_named(multi30k):
    (multi30k / "train.de").write_text("nur eine Zeile\n")
    with pytest.raises(InputError, match=r"train\.en has 3 lines, train\.de 1"):
        translation.load(multi30k)
    (multi30k / "train.de").write_bytes(b"\xff\xfe\n" * 3)
    with pytest.raises(InputError, match=r"--data .*train\.de"):
        translation.load(multi30k)
    (multi30k / "train.de").unlink()
    with pytest.raises(InputError, match=r"looked for train\.en, train\.de, test\.en and test\.de"):
        translation.load(multi30k)


def test_empty_text_files_are_refused(multi30k):
    for name in ("test.en", "test.de"):
        (multi30k / name).write_text("\n")
    with pytest.raises(InputError, match="no pairs"):
        translation.load(multi30k)
