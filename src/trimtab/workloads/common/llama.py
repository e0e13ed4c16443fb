"""The dimensions of a model of Llama's architecture, and its prompts, for all frameworks."""

from typing import Any

from trimtab.workloads.data import sentences

# Each byte is a token, followed by these two, so no tokenizer has to be fetched or trained.
BEGIN, PADDING = 256, 257
VOCABULARY_SIZE = 258


def configuration(width: int, layers: int) -> dict[str, Any]:
    """Return LlamaConfig's arguments: heads of 64, half as many for keys, SwiGLU of 8/3 x width."""
    heads = width // 64
    return {
        "vocab_size": VOCABULARY_SIZE,
        "hidden_size": width,
        "intermediate_size": 8 * width // 3 // 64 * 64,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": max(1, heads // 2),
        "max_position_embeddings": 2048,
        "bos_token_id": BEGIN,
        "eos_token_id": None,
        "pad_token_id": PADDING,
    }


def prompts(number: int, longest: int) -> list[list[int]]:
    """Return the first `longest` bytes of the first sentences of the data, after BEGIN."""
    return [[BEGIN, *text.encode()[:longest]] for text in sentences.load("en")[:number]]
