"""Greedy decoding of a model of Llama's architecture with vLLM.

The model is a folder with only its configuration; vLLM draws weights from the seed.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trimtab.workloads.common import command, llama


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Continue the prompts by `new_tokens` tokens each; return the metrics with their numbers."""
    import vllm  # type: ignore[import-not-found]
    from transformers import LlamaConfig

    config = LlamaConfig(
        **llama.configuration(arguments.width, arguments.layers),
        architectures=["LlamaForCausalLM"],
        dtype="bfloat16",
    )
    prompts = llama.prompts(arguments.prompts, arguments.bytes)
    with TemporaryDirectory() as folder:
        config.save_pretrained(Path(folder))
        model = vllm.LLM(
            folder,
            skip_tokenizer_init=True,
            load_format="dummy",
            seed=arguments.seed,
            max_model_len=arguments.bytes + arguments.new_tokens + 1,
            gpu_memory_utilization=0.2,
        )
        options = vllm.SamplingParams(
            temperature=0, max_tokens=arguments.new_tokens, ignore_eos=True, detokenize=False
        )
        outputs = model.generate([{"prompt_token_ids": prompt} for prompt in prompts], options)
    command.mark_first_iteration()
    return {
        "vllm": vllm.__version__,
        "data": "bytes of the Universal Declaration of Human Rights",
        "prompt_tokens": sum(map(len, prompts)),
        "generated": [list(output.outputs[0].token_ids) for output in outputs],
    }


if __name__ == "__main__":
    options = command.parser(
        "Greedy decoding with vLLM and a model of Llama's architecture.", devices=()
    )
    options.add_argument("--width", type=command.positive, default=1024, help="a multiple of 64")
    options.add_argument("--layers", type=command.positive, default=16)
    options.add_argument("--prompts", type=command.positive, default=32)
    options.add_argument("--bytes", type=command.positive, default=128, help="of a prompt, at most")
    options.add_argument("--new-tokens", type=command.positive, default=64, help="for each prompt")
    command.main(options, run)
