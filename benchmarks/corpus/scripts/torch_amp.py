"""A convolutional network trained under automatic mixed precision (bfloat16) on the CPU."""

import sys

import torch
from torch import nn

side = int(sys.argv[1])
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, stride=2),
    nn.SiLU(),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Linear(64, 10),
)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)
images, labels = torch.randn(8, 3, side, side), torch.arange(8)
for step in range(5):
    with torch.autocast("cpu", torch.bfloat16):
        loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    schedule.step()
    print(step, f"{loss.item():.3f}")
model.eval()
with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
    print("classes", model(images).dtype, tuple(model(images).shape))
