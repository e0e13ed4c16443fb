"""The detector's loss: Redmon et al. (2016), section 2.2."""

from typing import Any

import torch

from trimtab.workloads.detection.boxes import decoded, overlap

_OF_BOXES = 5.0
_OF_NOTHING = 0.5


def loss_of(cells: Any, boxes: Any, labels: Any) -> Any:
    """Return the mean loss of an image: squared errors of boxes, confidences, and classes.

    `cells` is the net's output; `boxes` [batch, objects, 4] and `labels` [batch, objects] are the
    truth. The cell of an object's centre has to find it, with its box of the largest overlap.
    """
    predicted, sure, chances = decoded(cells)
    batch, rows, columns = predicted.shape[:3]
    image = torch.arange(batch, device=cells.device)[:, None].expand(labels.shape)
    column = (boxes[..., 0] * columns).long().clamp(max=columns - 1)
    row = (boxes[..., 1] * rows).long().clamp(max=rows - 1)
    candidates = predicted[image, row, column]
    overlaps = overlap(candidates.detach(), boxes[:, :, None])
    best = overlaps.argmax(dim=-1)
    at = image, row, column, best
    nothing = torch.ones_like(sure)
    nothing[at] = 0
    box = predicted[at]
    places = (box[..., :2] - boxes[..., :2]) * cells.new_tensor([columns, rows])
    sizes = box[..., 2:].sqrt() - boxes[..., 2:].sqrt()
    is_object = sure[at] - overlaps.gather(2, best[..., None])[..., 0]
    of_class = torch.nn.functional.one_hot(labels, chances.shape[-1])
    total = _OF_BOXES * (places.square().sum() + sizes.square().sum()) + is_object.square().sum()
    total = total + _OF_NOTHING * (sure * nothing).square().sum()
    return (total + (chances[image, row, column] - of_class).square().sum()) / batch
