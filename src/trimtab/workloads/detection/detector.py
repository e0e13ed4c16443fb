"""A small detector similar to YOLO (Redmon et al. 2016), trained to find digits."""

from argparse import Namespace
from typing import Any

import numpy as np
import torch

from trimtab.workloads.common import network_file, program
from trimtab.workloads.common.classification import scaled
from trimtab.workloads.common.command import mark_epoch, mark_first_iteration
from trimtab.workloads.common.program import load_weights, save_weights
from trimtab.workloads.data import InputError, scenes
from trimtab.workloads.detection.boxes import LEAST_SCORE, MOST_OVERLAP, found, overlap
from trimtab.workloads.detection.loss import loss_of
from trimtab.workloads.detection.net import BOXES, STRIDE, WIDTH, build

_TEST = 16  # scenes, also saved with a network


def run(options: Namespace) -> dict[str, Any]:
    """Train from random weights; return the losses, and results on new scenes."""
    if options.side % STRIDE or options.side < 4 * STRIDE:
        raise InputError(f"--side {options.side}: expected a multiple of {STRIDE} from 32")
    train = scenes.draw(options.scenes, options.side, options.seed)
    test = scenes.draw(_TEST, options.side, options.seed + 1)
    model = build(scenes.CLASSES, options.width)
    weights = load_weights(model, options)
    model.to(options.device)
    losses = _train(model, train, options) if options.phase == "train" else []
    save_weights(model, options)
    model.eval()
    images = scaled(torch.from_numpy(test.images)).to(options.device)
    with torch.inference_mode():
        cells = model(images).cpu()
    boxes, labels = torch.from_numpy(test.boxes), torch.from_numpy(test.labels)
    right, all_found = _right(found(cells, LEAST_SCORE, MOST_OVERLAP), boxes, labels)
    if options.save_network is not None:
        save_network(options.save_network, model, images.cpu())
    return {
        "data": {"name": "digits on photographs", "source": scenes.source()},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "weights": weights,
        "train_loss": losses,
        "test_loss": loss_of(cells, boxes, labels).item(),
        "test_objects": labels.numel(),
        "test_found": all_found,
        "test_found_right": right,
    }


def _train(model: Any, train: scenes.Scenes, options: Namespace) -> list[float]:
    optimiser = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    losses = []
    for epoch in range(1, options.epochs + 1):
        total = 0.0
        for first in range(0, options.scenes, options.batch_size):
            some = slice(first, first + options.batch_size)
            images = scaled(torch.from_numpy(train.images[some])).to(options.device)
            boxes, labels = (
                torch.from_numpy(train.boxes[some]),
                torch.from_numpy(train.labels[some]),
            )
            optimiser.zero_grad()
            loss = loss_of(model(images), boxes.to(images.device), labels.to(images.device))
            loss.backward()
            optimiser.step()
            total += loss.item() * len(images)
            if epoch == 1 and first == 0:
                mark_first_iteration()
        losses.append(total / options.scenes)
        mark_epoch(epoch, losses[-1])
    return losses


def _right(of_images: list[Any], boxes: Any, labels: Any) -> tuple[int, int]:
    """Return the number of objects found with their class, and the number of boxes."""
    right = 0
    for image, (here, of_classes) in zip(of_images, zip(boxes, labels, strict=True), strict=True):
        near = overlap(here[:, None], image[None]) > MOST_OVERLAP
        right += int((near & (image[None, :, 5] == of_classes[:, None])).any(dim=1).sum())
    return right, sum(map(len, of_images))


def save_network(path: Any, model: Any, images: Any) -> None:
    """Write the model, `images` [images, 3, side, side] and its detections.

    The network file also has `grid`: cells per side, boxes per cell, classes, least score and most
    overlap; `box_counts` [images]; and `boxes` [images, most, 6], as from `boxes.found`, padded
    with zeros.
    """
    cells = network_file.outputs(model, images)
    limits = np.array([LEAST_SCORE, MOST_OVERLAP], np.float32)
    of_images = found(cells, *map(float, limits))
    boxes = np.zeros((len(images), max(1, *map(len, of_images)), 6), np.float32)
    for number, image in enumerate(of_images):
        boxes[number, : len(image)] = image.numpy()
    side, classes = cells.shape[-1], cells.shape[1] - 5 * BOXES
    grid = np.array([side, BOXES, classes, *limits], np.float32)
    counts = np.array([len(image) for image in of_images], np.float32)
    network_file.save(
        path, "detector 1", model, images, cells, grid=grid, box_counts=counts, boxes=boxes
    )


if __name__ == "__main__":
    program.main(
        "A small detector on scenes with digits.",
        4,
        run,
        saves_network=True,
        learning_rate=4e-3,
        width=WIDTH,
        side=96,
        scenes=256,
    )
