"""ResNet-50 training steps with AMP and cuDNN's benchmark: resnet.py [BATCH:SIZE ...]"""

import copy
import sys

import torch
import torchvision

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
untrained = torchvision.models.resnet50().cuda()
for size in sys.argv[1:] or ["32:224"]:
    batch, side = map(int, size.split(":"))
    model = copy.deepcopy(untrained)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    scaler = torch.amp.GradScaler()
    torch.manual_seed(batch)
    for step in range(3):
        x = torch.randn(batch, 3, side, side, device="cuda")
        y = torch.arange(batch, device="cuda") % 1000
        with torch.autocast("cuda"):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print(size, "%.1f" % loss.item(), flush=True)
