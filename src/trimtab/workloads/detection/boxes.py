"""Boxes of the cells of a grid, and non-maximum suppression."""

from typing import Any

import torch

from trimtab.workloads.detection.net import BOXES

LEAST_SCORE = 0.25
MOST_OVERLAP = 0.5


def decoded(cells: Any) -> tuple[Any, Any, Any]:
    """Decode the net's output [batch, BOXES * 5 + classes, rows, columns].

    Return boxes [batch, rows, columns, BOXES, 4], with centres x and y, widths and heights in
    shares of the image; their confidences, [batch, rows, columns, BOXES]; and class probabilities,
    [batch, rows, columns, classes].
    """
    batch, _, rows, columns = cells.shape
    cells = cells.permute(0, 2, 3, 1)
    numbers = cells[..., : 5 * BOXES].reshape(batch, rows, columns, BOXES, 5).sigmoid()
    column, row = (torch.arange(count).to(cells) for count in (columns, rows))
    x = (numbers[..., 0] + column[None, None, :, None]) / columns
    y = (numbers[..., 1] + row[None, :, None, None]) / rows
    boxes = torch.stack([x, y, numbers[..., 2], numbers[..., 3]], dim=-1)
    return boxes, numbers[..., 4], cells[..., 5 * BOXES :].softmax(dim=-1)


def overlap(one: Any, other: Any) -> Any:
    """Return intersection over union of boxes [..., 4], with broadcasting."""
    one, other = one[..., :4], other[..., :4]
    first, second = one[..., :2] - one[..., 2:] / 2, other[..., :2] - other[..., 2:] / 2
    end = torch.minimum(first + one[..., 2:], second + other[..., 2:])
    both = (end - torch.maximum(first, second)).clamp(min=0).prod(dim=-1)
    return both / (one[..., 2:].prod(dim=-1) + other[..., 2:].prod(dim=-1) - both)


def found(cells: Any, least_score: float, most_overlap: float) -> list[Any]:
    """Return the boxes of each image, [boxes, 6]: box, score and class, by falling score.

    The score is the box's confidence times the probability of its likeliest class (section 2.1),
    and at least `least_score`. If two boxes of a class overlap by more than `most_overlap`, the one
    with the higher score is kept: non-maximum suppression.
    """
    boxes, sure, chances = decoded(cells)
    chance, label = chances.max(dim=-1, keepdim=True)
    every = torch.cat(
        [boxes, (sure * chance)[..., None], label[..., None].expand_as(boxes[..., :1])], dim=-1
    )
    return [_suppressed(image.flatten(0, 2), least_score, most_overlap) for image in every]


def _suppressed(boxes: Any, least_score: float, most_overlap: float) -> Any:
    boxes = boxes[boxes[:, 4] >= least_score]
    boxes = boxes[boxes[:, 4].argsort(descending=True, stable=True)]
    near = overlap(boxes[:, None], boxes[None]) > most_overlap
    near &= boxes[:, None, 5] == boxes[None, :, 5]
    kept: list[int] = []
    for number in range(len(boxes)):
        if not near[number, kept].any():
            kept.append(number)
    return boxes[kept]
