"""Sentences embedded, compared and clustered by a tiny BERT of random weights."""

import sys
import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, util
from sentence_transformers.models import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

count = int(sys.argv[1])
torch.manual_seed(0)
sentences = [
    f"the {a} {b} number {n}"
    for n in range(count)
    for a, b in [(("red", "green")[n % 2], ("boat", "hill")[n % 3 % 2])]
]
tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.train_from_iterator(
    sentences, trainers.WordLevelTrainer(special_tokens=["[UNK]", "[PAD]"], show_progress=False)
)
with tempfile.TemporaryDirectory() as folder:
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]"
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    BertModel(config).save_pretrained(folder)
    words = Transformer(folder)
    model = SentenceTransformer(modules=[words, Pooling(32, pooling_mode="mean")], device="cpu")
    vectors = model.encode(
        sentences, batch_size=8, normalize_embeddings=True, convert_to_tensor=True
    )
    print("vectors", tuple(vectors.shape), f"{vectors.norm(dim=1).mean():.4f}")
    print(
        "found",
        [hit["corpus_id"] for hit in util.semantic_search(vectors[:1], vectors, top_k=3)[0]],
    )
    print(
        "alike",
        f"{util.cos_sim(vectors[0], vectors[2]).item():.2f}",
        len(util.community_detection(vectors, min_community_size=2)) > 0,
    )
    saved = Path(folder, "saved")
    model.save(str(saved), create_model_card=False)
    print(
        "saved",
        torch.allclose(
            SentenceTransformer(str(saved), device="cpu").encode(
                sentences[:2], convert_to_tensor=True
            ),
            model.encode(sentences[:2], convert_to_tensor=True),
        ),
    )
