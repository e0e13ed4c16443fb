"""Facts of the architectures of the thesis' models."""

import pytest
import torch

from trimtab.workloads.data import InputError
from trimtab.workloads.tuned import m5
from trimtab.workloads.tuned.resnet import ResNet
from trimtab.workloads.tuned.text_cnn import TextCNN
from trimtab.workloads.tuned.text_lstm import TextLSTM
from trimtab.workloads.tuned.text_rnn import TextRNN


def parameters_of(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


# torchvision's have so many with ImageNet's 1,000 classes.
@pytest.mark.parametrize(
    ("layers", "published", "last"),
    [(18, 11_689_512, 512), (34, 21_797_672, 512), (50, 25_557_032, 2048)],
)
def test_resnet_has_the_published_size(layers: int, published: int, last: int) -> None:
    model = ResNet(layers).eval()
    assert parameters_of(model) == published - 990 * (last + 1)
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_resnet_of_another_depth_is_refused() -> None:
    with pytest.raises(InputError, match="--layers 20: expected one of 18, 34, 50"):
        ResNet(20)


def test_m5_has_the_layers_of_the_paper() -> None:
    # [80/4, 128], [3, 128], [3, 256], [3, 512]: weights, biases, and two of batch normalisation.
    layers = [(1, 128, 80), (128, 128, 3), (128, 256, 3), (256, 512, 3)]
    expected = sum(inputs * maps * width + 3 * maps for inputs, maps, width in layers)
    model = m5.build(classes=10, embedding=128, stride=4).eval()
    assert parameters_of(model) == expected + 512 * 10 + 10
    for points in (784, 8000, 16000):
        assert model(torch.zeros(2, 1, points)).shape == (2, 10)


def test_text_cnn_sees_words_wherever_they_stand() -> None:
    torch.manual_seed(0)
    model = TextCNN(tokens=20, classes=3, embedding=8, dropout=0.5).eval()
    sizes = sum(8 * 100 * width + 100 for width in (3, 4, 5))
    assert parameters_of(model) == 20 * 8 + sizes + 300 * 3 + 3
    phrase = torch.tensor([[5, 6, 7, 8, 9]])
    padding = torch.zeros(1, 6, dtype=torch.int64)
    early = model(torch.cat([padding, phrase, padding, padding], dim=1))
    late = model(torch.cat([padding, padding, phrase, padding], dim=1))
    torch.testing.assert_close(early, late)
    other = model(torch.cat([padding, phrase.flip(1), padding, padding], dim=1))
    assert not torch.allclose(early, other)


def test_text_lstm_keeps_the_maximum_of_what_a_cell_gives_step_by_step() -> None:
    torch.manual_seed(0)
    model = TextLSTM(tokens=20, classes=3, embedding=8, dropout=0.5, hidden_size=6).eval()
    cell = torch.nn.LSTMCell(8, 6)
    cell.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in model.lstm.state_dict().items()}
    )
    numbers = torch.randint(20, (4, 11))
    state, outputs = None, []
    for step in range(11):
        state = cell(model.embedding(numbers[:, step]), state)
        outputs.append(state[0])
    torch.testing.assert_close(model(numbers), model.classifier(torch.stack(outputs).amax(dim=0)))


def test_text_rnn_steps_over_the_mean_of_each_stride() -> None:
    torch.manual_seed(0)
    model = TextRNN(tokens=20, classes=3, stride=4, embedding=8, hidden_size=6).eval()
    cell = torch.nn.RNNCell(8, 6)
    cell.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in model.rnn.state_dict().items()}
    )
    numbers = torch.randint(20, (2, 12))
    state, outputs = None, []
    for step in range(3):
        words = model.embedding(numbers[:, 4 * step : 4 * step + 4]).mean(dim=1)
        state = cell(words, state)
        outputs.append(state)
    torch.testing.assert_close(model(numbers), model.classifier(torch.stack(outputs).mean(dim=0)))
