"""A causal language model of Llama's architecture, greedy decoding (Hugging Face Transformers)."""

import argparse
from typing import Any

import torch
import transformers

from trimtab.workloads.common import command, llama, torch_device


def padded(tokens: list[list[int]]) -> tuple[Any, Any]:
    """Return int64 tokens [prompts, longest], padded in front, and the mask of real tokens."""
    longest = max(map(len, tokens))
    batch = torch.tensor([[llama.PADDING] * (longest - len(row)) + row for row in tokens])
    return batch, (batch != llama.PADDING).long()


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Continue the prompts by `new_tokens` tokens each; return the metrics with their numbers."""
    device = torch_device.prepare(arguments.device, arguments.seed)
    config = transformers.LlamaConfig(**llama.configuration(arguments.width, arguments.layers))
    # Drawn in float32 on the CPU, so a seed gives equal weights on every device.
    model = transformers.LlamaForCausalLM(config).eval()
    precision = torch.bfloat16 if device.type == "cuda" else torch.float32
    model.to(device, precision)
    prompts = llama.prompts(arguments.prompts, arguments.bytes)
    tokens, mask = (each.to(device) for each in padded(prompts))
    options = {"attention_mask": mask, "do_sample": False, "pad_token_id": llama.PADDING}
    model.generate(tokens, max_new_tokens=1, **options)
    command.mark_first_iteration()
    generated = model.generate(tokens, max_new_tokens=arguments.new_tokens, **options)
    expected = tokens.masked_fill(mask == 0, -100)  # ignored by the loss
    with torch.inference_mode():
        loss = model(tokens, attention_mask=mask, labels=expected).loss.item()
    return {
        "device": torch_device.described(device),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "precision": str(precision),
        "weights": f"initialised from seed {arguments.seed}",
        "data": "bytes of the Universal Declaration of Human Rights",
        "prompt_tokens": int(mask.sum()),
        "prompt_loss": loss,
        "generated": generated[:, tokens.shape[1] :].tolist(),
    }


if __name__ == "__main__":
    options = command.parser("Greedy decoding with a model of Llama's architecture.")
    options.add_argument("--width", type=command.positive, default=128, help="a multiple of 64")
    options.add_argument("--layers", type=command.positive, default=2)
    options.add_argument("--prompts", type=command.positive, default=8)
    options.add_argument("--bytes", type=command.positive, default=128, help="of a prompt, at most")
    options.add_argument("--new-tokens", type=command.positive, default=32, help="for each prompt")
    command.main(options, run)
