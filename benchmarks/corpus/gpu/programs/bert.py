"""Sentence embeddings of a small BERT with random weights: bert.py [BATCH:LENGTH ...]"""

import sys

import torch
from transformers import BertConfig, BertModel

torch.manual_seed(0)
config = BertConfig(vocab_size=3000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4)
model = BertModel(config).cuda().eval()
for size in sys.argv[1:] or ["8:64"]:
    batch, length = map(int, size.split(":"))
    words = (torch.arange(batch * length, device="cuda") * 31 % 3000).reshape(batch, length)
    with torch.inference_mode(), torch.autocast("cuda", torch.float16):
        y = model(words, attention_mask=torch.ones_like(words)).last_hidden_state.mean(1)
    print(size, f"{y.float().norm().item():.2f}", flush=True)
