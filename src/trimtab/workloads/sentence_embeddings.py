"""Sentences of two languages embedded and compared by sentence-transformers.

The model comes from its configuration, with weights initialised from the seed, and the tokenizer
from the sentences; nothing is fetched.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trimtab.workloads.common import command
from trimtab.workloads.data import sentences

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def vocabulary(texts: Iterable[str]) -> list[str]:
    """Return a WordPiece vocabulary: special tokens, characters, and words seen more than once.

    Each character is a token at a word's beginning, and after `##` inside, so every word of `texts`
    has pieces. The order depends only on the texts.
    """
    words = Counter(re.findall(r"\w+|[^\w\s]", " ".join(texts)))
    characters = sorted({character for word in words for character in word})
    inside = [f"##{character}" for character in characters]
    frequent = sorted(word for word, count in words.items() if count > 1 and len(word) > 1)
    return [*_SPECIAL, *characters, *inside, *frequent]


def write_model(folder: Path, tokens: list[str], width: int, layers: int) -> None:
    """Write BERT and its tokenizer to `folder`, in Hugging Face Transformers' format."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    file = folder / "vocab.txt"
    file.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    tokenizer = BertTokenizerFast(
        vocab=str(file), do_lower_case=False, strip_accents=False, model_max_length=256
    )
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
    )
    BertModel(config).save_pretrained(folder)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Embed the pairs of sentences; return the metrics with each pair's cosine similarity."""
    import sentence_transformers  # type: ignore[import-not-found]
    import torch
    from sentence_transformers.sentence_transformer import modules  # type: ignore[import-not-found]

    from trimtab.workloads.common import torch_device

    device = torch_device.prepare(arguments.device, arguments.seed)
    english, german = sentences.load("en"), sentences.load("de")
    tokens = vocabulary(english + german)
    with TemporaryDirectory() as folder:
        write_model(Path(folder), tokens, arguments.width, arguments.layers)
        encoder = modules.Transformer(folder)
    pooling = modules.Pooling(encoder.get_embedding_dimension())
    model = sentence_transformers.SentenceTransformer(
        modules=[encoder, pooling], device=str(device)
    )
    embedded = {}
    for language, texts in (("en", english), ("de", german)):
        embedded[language] = model.encode(
            texts,
            batch_size=arguments.batch_size,
            show_progress_bar=False,
            convert_to_tensor=True,
            normalize_embeddings=True,
        )
        if language == "en":
            command.mark_first_iteration()
    similarity = embedded["en"] @ embedded["de"].T
    return {
        "data": "Universal Declaration of Human Rights, English and German",
        "device": torch_device.described(device),
        "torch": torch.__version__,
        "sentence_transformers": sentence_transformers.__version__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "vocabulary": len(tokens),
        "pair_similarity": similarity.diagonal().tolist(),
        "closest": similarity.argmax(dim=1).tolist(),
    }


if __name__ == "__main__":
    options = command.parser("English and German sentences embedded by sentence-transformers.")
    options.add_argument("--width", type=command.positive, default=384, help="a multiple of 64")
    options.add_argument("--layers", type=command.positive, default=6)
    options.add_argument("--batch-size", type=command.positive, default=32)
    command.main(options, run)
