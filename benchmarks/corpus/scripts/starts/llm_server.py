"""A server of a tiny language model: a prompt of numbers in the path, the next words as JSON."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
model = LlamaForCausalLM(config).eval()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        prompt = torch.tensor(
            [[int(word) for word in self.path.strip("/").split(",") if word] or [1]]
        )
        words = model.generate(prompt, max_new_tokens=4, do_sample=False, pad_token_id=0)
        answer = json.dumps(words[0].tolist()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
