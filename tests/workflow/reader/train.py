"""A reader's training, with the three lines that `trimtab tune` asks for."""

import sys

import trimtab_trial

given = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
rate, epochs = float(given["--learning-rate"]), int(given["--epochs"])
for epoch in range(trimtab_trial.first_epoch(), epochs):
    trimtab_trial.epoch_end(epoch, accuracy=1 / (1 + rate) * (1 - 0.5 ** (epoch + 1)))
