"""Inference in half precision with a vision transformer of timm: vit.py [BATCH:SIDE ...]"""

import sys

import timm
import torch

torch.manual_seed(0)
for size in sys.argv[1:] or ["4:224"]:
    batch, side = map(int, size.split(":"))
    model = timm.create_model("vit_tiny_patch16_224", img_size=side).cuda().half().eval()
    with torch.inference_mode():
        y = model(torch.rand(batch, 3, side, side, device="cuda", dtype=torch.half))
    print(size, f"{y.float().norm().item():.2f}", flush=True)
