"""Training in PyTorch as a trial of a tuner: its checkpoints, its metrics, what it is told.

Nothing of it happens where no tuner started the program, and where one did the model is trained to
the same bits, however often it is paused: whatever is drawn at random goes on where it stopped.
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
    """Where training begins, and what it tells at each epoch's end; epochs are counted from 1.

    `parts` have a state: model, optimiser, schedule. `order` is the generator of the samples'
    order, `device` what the model lies on. `losses` are those of the epochs before `first`.
    """

    def __init__(self, device: Any, order: Any, **parts: Any) -> None:
        self._device, self._order, self._parts = device, order, parts
        self.first = trimtab_trial.first_epoch() + 1
        self.losses: list[float] = []
        if self.first > 1:
            self._restore(self._path(self.first - 1))

    @property
    def loader_workers(self) -> int:
        """The processes that prepare batches in this epoch."""
        return trimtab_trial.settings().get("loader_workers", 0)

    def epoch_end(self, epoch: int, evaluate: Callable[[], dict[str, float]]) -> None:
        """Tell the tuner the epoch's loss, the last of `losses`, and what `evaluate` returns.

        Its metric `validation_accuracy` is told as `accuracy`: the one that is tuned. Ends the
        program where the tuner wants it to stop.
        """
        if not trimtab_trial.tuned():
            return
        devices = [self._device] if self._device.type == "cuda" else []
        with torch.random.fork_rng(devices):  # evaluation draws, too
            metrics = evaluate()
        metrics["accuracy"] = metrics.pop("validation_accuracy")
        self._parts["model"].train()
        self._save(self._path(epoch))
        trimtab_trial.epoch_end(epoch - 1, loss=self.losses[-1], **metrics)
        self._path(epoch - 1).unlink(missing_ok=True)  # no run goes on from it any more

    def _path(self, epochs: int) -> Path:
        """Return the checkpoint after so many epochs."""
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
