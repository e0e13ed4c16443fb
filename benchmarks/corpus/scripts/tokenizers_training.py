"""Tokenizers of three kinds trained on a text, saved, read again, and used on batches."""

import sys

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

vocabulary = int(sys.argv[1])
lines = [
    __doc__,
    *(f"The quick brown fox jumps over {n} lazy dogs; naïve café №{n}" for n in range(200)),
]
kinds = {
    "bpe": (models.BPE(unk_token="[UNK]"), trainers.BpeTrainer),
    "wordpiece": (models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer),
    "unigram": (models.Unigram(), trainers.UnigramTrainer),
}
for name, (model, trainer) in kinds.items():
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        lines,
        trainer(
            vocab_size=vocabulary, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_padding()
    tokenizer.enable_truncation(24)
    if name == "wordpiece":
        tokenizer.decoder = decoders.WordPiece()
    again = Tokenizer.from_str(tokenizer.to_str())
    encodings = again.encode_batch(["The quick naïve fox", "lazy dogs jump over 17 cafés"])
    print(
        name,
        tokenizer.get_vocab_size() > 20,
        [len(each.ids) for each in encodings],
        again.decode(encodings[1].ids) != "",
    )
