"""Training in PyTorch as a trial of a tuner: its checkpoints, metrics and settings.

It has no effect unless a tuner started the program. The trained model is bit-identical however
often training is paused, as random generators resume their states.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import trimtab_trial
from trimtab.workloads.common.command import beside
from trimtab.workloads.data import InputError


class Trial:
    """The start of training, and its reports at each epoch's end; epochs count from 1.

    `parts` have a state: model, optimiser, schedule. `order` is the generator of the samples'
    order, `device` the model's device. `losses` are of the epochs before `first`.
    """

    def __init__(self, device: Any, order: Any, **parts: Any) -> None:
        self._device, self._order, self._parts = device, order, parts
        self.first = trimtab_trial.first_epoch() + 1
        self.losses: list[float] = []
        if self.first > 1:
            self._restore(self._path(self.first - 1))

    @property
    def loader_workers(self) -> int:
        """The number of processes that prepare batches in this epoch."""
        return trimtab_trial.settings().get("loader_workers", 0)

    def epoch_end(self, epoch: int, evaluate: Callable[[], dict[str, float]]) -> None:
        """Tell the tuner the epoch's loss, the last of `losses`, and the metrics of `evaluate`.

        The metric `validation_accuracy` is reported as `accuracy`, the tuned one. Ends the program
        where the tuner wants it to stop.
        """
        if not trimtab_trial.tuned():
            return
        devices = [self._device] if self._device.type == "cuda" else []
        with torch.random.fork_rng(devices):  # evaluation draws random numbers, too
            metrics = evaluate()
        metrics["accuracy"] = metrics.pop("validation_accuracy")
        self._parts["model"].train()
        self._save(self._path(epoch))
        trimtab_trial.epoch_end(epoch - 1, loss=self.losses[-1], **metrics)
        self._path(epoch - 1).unlink(missing_ok=True)  # no run needs it any more

    def _path(self, epochs: int) -> Path:
        """Return the path of the checkpoint after `epochs` epochs."""
        return Path(str(trimtab_trial.folder()), f"{epochs}.pt")

    def _save(self, path: Path) -> None:
        state = {name: part.state_dict() for name, part in self._parts.items()}
        state |= {"losses": self.losses, "order": self._order.get_state()}
        state["random"] = torch.get_rng_state()
        if self._device.type == "cuda":
            state["random_cuda"] = torch.cuda.get_rng_state(self._device)
        temporary = beside(path)
        with temporary.open("wb") as file:
            torch.save(state, file)
        temporary.replace(path)

    def _restore(self, path: Path) -> None:
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            for name, part in self._parts.items():
                part.load_state_dict(state[name])
            self.losses = state["losses"]
            self._order.set_state(state["order"])
            torch.set_rng_state(state["random"])
            if self._device.type == "cuda":
                torch.cuda.set_rng_state(state["random_cuda"], self._device)
        except (OSError, EOFError, KeyError, RuntimeError, TypeError, ValueError,
                pickle.UnpicklingError) as error:  # fmt: skip
            reason = str(error).partition("\n")[0]
            raise InputError(f"{path}: no checkpoint of this training: {reason}") from None
