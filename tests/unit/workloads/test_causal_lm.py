"""The causal language model: its prompts, its padding, and greedy decoding."""

import argparse

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from trimtab.workloads import causal_lm
from trimtab.workloads.common import llama
from trimtab.workloads.common.llama import BEGIN, PADDING, VOCABULARY_SIZE
from trimtab.workloads.data import sentences


def arguments(**changes: object) -> argparse.Namespace:
    sizes = {"width": 128, "layers": 2, "prompts": 3, "bytes": 40, "new_tokens": 6}
    return argparse.Namespace(device="cpu", **{"seed": 0, **sizes, **changes})


def test_prompts_are_the_bytes_of_sentences():
    rows = llama.prompts(5, 2000)
    assert [bytes(row[1:]).decode() for row in rows] == sentences.load("en")[:5]
    assert {row[0] for row in rows} == {BEGIN}
    assert [len(row) for row in llama.prompts(5, 16)] == [17] * 5
    assert max(token for row in rows for token in row) < PADDING < VOCABULARY_SIZE


def test_padding_is_in_front_and_masked():
    batch, mask = causal_lm.padded([[BEGIN, 65], [BEGIN, 66, 67, 68]])
    assert batch.tolist() == [[PADDING, PADDING, BEGIN, 65], [BEGIN, 66, 67, 68]]
    assert mask.tolist() == [[0, 0, 1, 1], [1, 1, 1, 1]]


def test_the_gpus_model_has_the_size_that_its_yaml_says():
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(**llama.configuration(1024, 16)))
    assert round(sum(parameter.numel() for parameter in model.parameters()) / 1e6) == 183


def test_every_token_is_the_likeliest_one_after_those_before_it(capsys):
    # Prompts of unequal length: the shorter ones are padded in the program, and are not here.
    result = causal_lm.run(arguments(bytes=200))
    assert capsys.readouterr().out == "first iteration\n"
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**llama.configuration(128, 2))).eval()
    prompts = llama.prompts(3, 200)
    assert len({len(prompt) for prompt in prompts}) > 1
    for prompt, generated in zip(prompts, result["generated"], strict=True):
        assert len(generated) == 6
        with torch.inference_mode():
            logits = model(torch.tensor([prompt + generated])).logits[0]
        following = logits[len(prompt) - 1 : -1]
        chosen = following.gather(1, torch.tensor(generated)[:, None])[:, 0]
        torch.testing.assert_close(chosen, following.max(dim=1).values, atol=1e-4, rtol=0)


def test_seed_and_model_decide_the_result():
    first, again = causal_lm.run(arguments()), causal_lm.run(arguments())
    assert first == again
    other = causal_lm.run(arguments(seed=1))
    assert other["prompt_loss"] != first["prompt_loss"]
    # An untrained model knows nothing: it is as good as guessing one of the tokens.
    uniform = torch.tensor(VOCABULARY_SIZE).log().item()
    assert first["prompt_loss"] == pytest.approx(uniform, abs=0.3)
