"""The sentences of the Universal Declaration of Human Rights, for programs that read text."""

from pathlib import Path

HUMAN_RIGHTS = Path(__file__).with_name("human_rights")


def load(language: str) -> list[str]:
    """Return the 32 test sentences, then the 36 for training, in `language`, `en` or `de`.

    The n-th sentence of one language is the translation of the n-th of the other.
    """
    files = (HUMAN_RIGHTS / f"{split}.{language}" for split in ("test", "train"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
