"""The image classifiers: facts of their architectures, and that training trains them."""

import numpy as np
import pytest
import torch

from trimtab.workloads.common import classification
from trimtab.workloads.common.program import parser
from trimtab.workloads.data import mnist
from trimtab.workloads.lenet5 import build as build_lenet5
from trimtab.workloads.lstm import RowLSTM
from trimtab.workloads.mobilenetv2 import MobileNetV2


def parameters_of(model) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.fixture(scope="module")
def digits():
    return mnist.load(None, 1200, 300)


def test_lenet5_has_the_layers_of_the_paper():
    model = build_lenet5()
    assert parameters_of(model) == 61_706
    maps = [layer.out_channels for layer in model if isinstance(layer, torch.nn.Conv2d)]
    units = [layer.out_features for layer in model if isinstance(layer, torch.nn.Linear)]
    assert (maps, units) == ([6, 16], [120, 84, 10])
    assert model(torch.zeros(3, 1, 28, 28)).shape == (3, 10)


def test_lstm_reads_rows_from_the_top_as_a_cell_does_step_by_step(digits):
    model = RowLSTM(hidden_size=16)
    assert parameters_of(model) == 4 * 16 * (28 + 16 + 2) + 17 * 10
    images = classification.scaled(torch.from_numpy(digits.test.inputs[:5]))
    cell = torch.nn.LSTMCell(28, 16)
    cell.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in model.lstm.state_dict().items()}
    )
    state = None
    for row in range(28):
        state = cell(images[:, 0, row], state)
    torch.testing.assert_close(model(images), model.classifier(state[0]))


def test_mobilenetv2_has_the_published_size_and_keeps_4_by_4_positions():
    model = MobileNetV2().eval()
    # torchvision's MobileNetV2 has 3,504,872 with ImageNet's 1,000 classes.
    assert parameters_of(model) == 3_504_872 - 990 * (1280 + 1)
    images = torch.zeros(2, 3, 32, 32)
    assert model(images).shape == (2, 10)
    last = model.model.mobilenet_v2(images).last_hidden_state
    assert last.shape == (2, 1280, 4, 4)


def test_pixels_are_scaled_from_minus_one_to_one():
    pixels = torch.tensor([0, 51, 255], dtype=torch.uint8)
    assert classification.scaled(pixels).tolist() == pytest.approx([-1, -0.6, 1], abs=1e-6)


def test_training_lowers_the_loss_of_each_epoch_and_the_model_generalises(digits, capsys):
    torch.manual_seed(1)
    model = build_lenet5()
    before, _ = classification.evaluate(model, digits.test, 100, mark=False)
    options = parser("", 16).parse_args(["--epochs", "3", "--output", "unused"])
    options.learning_rate = classification.LEARNING_RATE
    losses = classification.train(model, digits.train, {"test": digits.test}, options)
    after, accuracy = classification.evaluate(model, digits.test, 100, mark=False)
    assert before > losses[0] > losses[1] > losses[2]
    assert after < 0.5 * before
    assert accuracy > 0.75
    marks = capsys.readouterr().out.splitlines()
    assert marks[0] == "first iteration"
    assert marks[1:] == [f"epoch {n} loss {loss:.6f}" for n, loss in enumerate(losses, start=1)]


def test_evaluation_is_the_mean_over_samples_whatever_the_batch_size(digits):
    model = build_lenet5()
    loss, accuracy = classification.evaluate(model, digits.test, 300, mark=False)
    logits = model(torch.from_numpy(digits.test.inputs).float() / 127.5 - 1).detach().numpy()
    wrong = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(300), digits.test.labels]
    assert loss == pytest.approx(wrong.mean(), rel=1e-5)
    assert accuracy == (logits.argmax(axis=1) == digits.test.labels).mean()
    # 7 does not divide 300: the last, smaller batch must not weigh more.
    assert classification.evaluate(model, digits.test, 7, mark=False) == pytest.approx(
        (loss, accuracy), rel=1e-6
    )
