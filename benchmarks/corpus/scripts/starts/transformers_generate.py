"""A tiny GPT-2 of random weights writes some words."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=96, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2
)
model = GPT2LMHeadModel(config).eval()
prompt = torch.tensor([[5, 6, 7]])
print(model.generate(prompt, max_new_tokens=8, do_sample=False, pad_token_id=0).tolist())
