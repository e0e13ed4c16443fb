"""English-German pairs: text files such as Multi30k's, or the catalogues in Django."""

import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from trimtab.workloads.data import InputError, package_folder

PADDING, BEGIN, END, UNKNOWN = range(4)
_SPECIAL = ("<pad>", "<begin>", "<end>", "<unknown>")
_VOCABULARY_SIZE = 10_000
MAXIMUM_TOKENS = 100
# %(name)s, {name} and %s; each stays one token.
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|\{\w*\}|%[a-z]")
_TOKEN = re.compile(rf"{PLACEHOLDER.pattern}|\w+|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]{3}")

Pair = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Translations:
    """Pairs of an English and a German sentence, each a list of tokens, in two splits."""

    name: str
    source: str
    train: list[Pair]
    test: list[Pair]


class Vocabulary:
    """The most frequent tokens of some sentences, numbered; 0 to 3 are the special tokens."""

    def __init__(self, sentences: Iterable[list[str]]):
        counts = Counter(token for sentence in sentences for token in sentence)
        frequent = counts.most_common(_VOCABULARY_SIZE - len(_SPECIAL))
        self.tokens = [*_SPECIAL, *(token for token, _ in frequent)]
        self._numbers = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, sentence: list[str]) -> list[int]:
        """Return the tokens' numbers between BEGIN and END."""
        return [BEGIN, *(self._numbers.get(token, UNKNOWN) for token in sentence), END]

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the tokens up to END, without BEGIN, joined by spaces."""
        tokens = []
        for number in numbers:
            if number == END:
                break
            if number != BEGIN:
                tokens.append(self.tokens[number])
        return " ".join(tokens)


def load(folder: Path | None) -> Translations:
    """Return the pairs in `folder`, or in Django's catalogues where it is None.

    A folder holds train.en, train.de, test.en and test.de, one sentence per line, as in Multi30k
    and in the folder `human_rights` beside this file. Every tenth of Django's pairs is for the
    test. Pairs with an empty sentence, or one above MAXIMUM_TOKENS, are left out. Raises InputError
    with the file at fault.
    """
    if folder is not None:
        name, source = f"English-German, {folder.resolve().name}", f"text files in {folder}"
        train, test = (_pairs(_lines(folder, split)) for split in ("train", "test"))
    else:
        name = "Django's message catalogues English-German"
        pairs = _pairs(_django_messages())
        source = f"{len(pairs)} pairs carried by Django {version('Django')}"
        test = pairs[9::10]
        train = [pair for index, pair in enumerate(pairs) if index % 10 != 9]
    if not train or not test:
        raise InputError(f"--data {folder}: no pairs of sentences in train or test")
    return Translations(name, source, train, test)


def tokens_of(sentence: str) -> list[str]:
    """Return words, punctuation marks and placeholders of `sentence` in order."""
    return _TOKEN.findall(sentence)


def read_catalogue(path: Path) -> Iterator[tuple[str, str]]:
    """Yield message and translation of a compiled gettext catalogue, without contexts.

    Messages with plural forms are left out. Format: GNU gettext manual, "The Format of GNU MO
    Files". Raises InputError for an invalid or truncated file.
    """
    data = path.read_bytes()
    order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(data[:4])
    if order is None:
        raise InputError(f"{path}: not a compiled gettext catalogue")
    try:
        count, originals, translations = struct.unpack_from(f"{order}3I", data, 8)
        for index in range(count):
            message, translation = (
                _text(data, *struct.unpack_from(f"{order}2I", data, table + 8 * index))
                for table in (originals, translations)
            )
            if message and "\0" not in message:
                yield message.rpartition("\x04")[2], translation
    except (struct.error, ValueError) as error:
        raise InputError(f"{path}: a damaged gettext catalogue: {error}") from None


def _text(data: bytes, length: int, offset: int) -> str:
    if offset + length > len(data):
        raise ValueError(f"a text ends at byte {offset + length} of {len(data)}")
    return data[offset : offset + length].decode()


def _django_messages() -> Iterator[tuple[str, str]]:
    """Yield each message once, in the order of the catalogues' paths and entries."""
    package = package_folder("django", "pairs of sentences")
    seen = set()
    for path in sorted(package.rglob("locale/de/LC_MESSAGES/*.mo")):
        for message, translation in read_catalogue(path):
            # A pure format ("%s KB", ":") has no word to translate.
            if message not in seen and _WORD.search(PLACEHOLDER.sub("", message)):
                seen.add(message)
                yield message, translation


def _lines(folder: Path, split: str) -> list[tuple[str, str]]:
    texts = []
    for language in ("en", "de"):
        path = folder / f"{split}.{language}"
        try:
            texts.append(path.read_text(encoding="utf-8").splitlines())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"--data {folder}: looked for train.en, train.de, test.en and test.de; "
                f"{path.name}: {error}"
            ) from None
    if len(texts[0]) != len(texts[1]):
        raise InputError(
            f"--data {folder}: {split}.en has {len(texts[0])} lines, {split}.de {len(texts[1])}"
        )
    return list(zip(*texts, strict=True))


def _pairs(sentences: Iterable[tuple[str, str]]) -> list[Pair]:
    pairs = [(tokens_of(english), tokens_of(german)) for english, german in sentences]
    return [pair for pair in pairs if all(0 < len(side) <= MAXIMUM_TOKENS for side in pair)]
