"""YOLOv3 (Redmon and Farhadi 2018) trained to find objects; the net is in yolov3_net.py."""

from argparse import Namespace
from typing import Any

import torch
from torch import nn

from trimtab.workloads.common import program
from trimtab.workloads.common.classification import scaled
from trimtab.workloads.common.command import mark_epoch, mark_first_iteration
from trimtab.workloads.data import InputError, scenes
from trimtab.workloads.images.yolov3_net import STRIDES, WIDTH, YOLOv3

# Widths and heights of the nine anchors, for images of 416 pixels, section 2.3; three per stride.
_ANCHORS = torch.tensor(
    [
        [[116.0, 90], [156, 198], [373, 326]],
        [[30, 61], [62, 45], [59, 119]],
        [[10, 13], [16, 30], [33, 23]],
    ]
).div(416)
_TEST = 16  # scenes


def loss_of(outputs: list[Any], boxes: Any, labels: Any) -> Any:
    """Return the mean loss of a scene: of boxes, of being an object, and of classes.

    The anchor with the largest overlap is responsible for an object (section 2.1); others with more
    than half overlap are ignored.
    """
    scene = torch.arange(len(boxes), device=boxes.device)[:, None].expand(labels.shape)
    overlap = _overlap(boxes[..., 2:], _ANCHORS.to(boxes.device).flatten(0, 1))
    best = overlap.argmax(dim=-1)
    total = boxes.new_zeros(())
    for scale, found in enumerate(outputs):
        rows = found.shape[2]
        cell = (boxes[..., :2] * rows).long().clamp(max=rows - 1)
        is_object = torch.zeros_like(found[..., 4])
        counts = torch.ones_like(found[..., 4])
        for anchor in range(3):
            near = overlap[..., 3 * scale + anchor] > 0.5
            counts[scene[near], anchor, cell[near][:, 1], cell[near][:, 0]] = 0
        mine = best // 3 == scale
        at = scene[mine], best[mine] % 3, cell[mine][:, 1], cell[mine][:, 0]
        is_object[at] = 1
        counts[at] = 1
        chances = nn.functional.binary_cross_entropy_with_logits(
            found[..., 4], is_object, reduction="none"
        )
        total = total + (chances * counts).sum()
        if not mine.any():
            continue
        predicted, box = found[at], boxes[mine]
        place = box[:, :2] * rows - cell[mine]
        size = (box[:, 2:] / _ANCHORS.to(box.device)[scale][best[mine] % 3]).log()
        total = total + (torch.sigmoid(predicted[:, :2]) - place).square().sum()
        total = total + (predicted[:, 2:4] - size).square().sum()
        of_classes = nn.functional.one_hot(labels[mine], found.shape[-1] - 5).float()
        total = total + nn.functional.binary_cross_entropy_with_logits(
            predicted[:, 5:], of_classes, reduction="sum"
        )
    return total / len(boxes)


def _overlap(sizes: Any, anchors: Any) -> Any:
    """Return [..., anchors]: intersection over union of boxes with a common centre."""
    both = torch.minimum(sizes[..., None, :], anchors).prod(dim=-1)
    return both / (sizes.prod(dim=-1)[..., None] + anchors.prod(dim=-1) - both)


def run(options: Namespace) -> dict[str, Any]:
    """Train from random weights and return the losses of epochs and of unseen scenes."""
    if options.side % STRIDES[0]:
        raise InputError(f"--side {options.side}: expected a multiple of {STRIDES[0]}")
    train = scenes.draw(options.scenes, options.side, options.seed)
    test = scenes.draw(_TEST, options.side, options.seed + 1)
    model = YOLOv3(scenes.CLASSES, options.width).to(options.device)
    optimiser = torch.optim.SGD(
        model.parameters(), lr=options.learning_rate, momentum=0.9, weight_decay=5e-4
    )
    losses = []
    for epoch in range(1, options.epochs + 1):
        model.train()
        total = 0.0
        for first in range(0, options.scenes, options.batch_size):
            images, boxes, labels = _part(train, first, options)
            optimiser.zero_grad()
            loss = loss_of(model(scaled(images)), boxes, labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimiser.step()
            total += loss.item() * len(images)
            if epoch == 1 and first == 0:
                mark_first_iteration()
        losses.append(total / options.scenes)
        mark_epoch(epoch, losses[-1])
    model.eval()
    with torch.inference_mode():
        images, boxes, labels = _part(test, 0, options, _TEST)
        test_loss = loss_of(model(scaled(images)), boxes, labels).item()
    return {
        "data": {"name": "digits on photographs", "source": scenes.source()},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train_loss": losses,
        "test_loss": test_loss,
    }


def _part(drawn: scenes.Scenes, first: int, options: Namespace, size: int = 0) -> list[Any]:
    some = slice(first, first + (size or options.batch_size))
    arrays = drawn.images[some], drawn.boxes[some], drawn.labels[some]
    return [torch.from_numpy(array).to(options.device) for array in arrays]


if __name__ == "__main__":
    program.main(
        "YOLOv3 on scenes with digits.",
        8,
        run,
        learning_rate=1e-3,
        width=WIDTH,
        side=96,
        scenes=64,
    )
