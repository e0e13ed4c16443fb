"""A tiny GPT-2 and a tiny BERT of random weights: generation, training, saving, masked words."""

import sys
import tempfile

import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

tokens = int(sys.argv[1])
torch.manual_seed(0)
prompt = torch.randint(3, 90, (2, 6))
gpt = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=96,
        n_positions=128,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=1,
        eos_token_id=2,
    )
).eval()
llama = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=96,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
).eval()
for name, model in (("gpt2", gpt), ("llama", llama)):
    for options in ({"do_sample": False}, {"num_beams": 3}):
        written = model.generate(prompt, max_new_tokens=tokens, pad_token_id=0, **options)
        print(name, tuple(written.shape), written[0, 6:12].tolist())
bert = BertForMaskedLM(
    BertConfig(
        vocab_size=96,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
)
optimizer = torch.optim.AdamW(bert.parameters(), 1e-3)
for _ in range(3):
    loss = bert(input_ids=prompt, attention_mask=torch.ones_like(prompt), labels=prompt).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("bert", loss.item() > 0)
with tempfile.TemporaryDirectory() as folder:
    gpt.save_pretrained(folder)
    again = AutoModelForCausalLM.from_pretrained(folder)
print("saved", torch.equal(again(prompt).logits, gpt(prompt).logits))
