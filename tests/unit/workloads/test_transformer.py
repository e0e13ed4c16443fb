"""The translation model: masks, positions, greedy decoding, and training."""

import math

import pytest
import torch

from trimtab.workloads import transformer
from trimtab.workloads.common.program import parser
from trimtab.workloads.common.translation_model import TranslationModel, sinusoids
from trimtab.workloads.data.translation import BEGIN, END, PADDING, Vocabulary

SOURCE_TOKENS, TARGET_TOKENS = 40, 50


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    return TranslationModel(SOURCE_TOKENS, TARGET_TOKENS, width=32, feed_forward_width=64).eval()


@pytest.fixture(scope="module")
def sources():
    numbers = torch.randint(4, SOURCE_TOKENS, (3, 9), generator=torch.Generator().manual_seed(0))
    numbers[1, 5:] = PADDING
    return numbers


@pytest.fixture(scope="module")
def targets():
    return torch.randint(4, TARGET_TOKENS, (3, 7), generator=torch.Generator().manual_seed(1))


def test_logits_have_one_row_a_target_token(model, sources, targets):
    assert model(sources, targets).shape == (3, 7, TARGET_TOKENS)


@pytest.mark.parametrize("position", range(7))
def test_later_target_tokens_do_not_change_earlier_logits(model, sources, targets, position):
    changed = targets.clone()
    changed[:, position] = (changed[:, position] + 1 - 4) % (TARGET_TOKENS - 4) + 4
    before, after = model(sources, targets), model(sources, changed)
    torch.testing.assert_close(after[:, :position], before[:, :position])
    for row in range(3):
        assert not torch.allclose(after[row, position:], before[row, position:])


def test_padding_of_sources_and_targets_changes_nothing(model, sources, targets):
    alone = model(sources[1:2, :5], targets[1:2])
    torch.testing.assert_close(model(sources, targets)[1:2], alone)
    padded = torch.cat([targets, torch.full((3, 4), PADDING)], dim=1)
    torch.testing.assert_close(model(sources, padded)[:, :7], model(sources, targets))


def test_every_source_token_and_its_position_matter(model, sources, targets):
    before = model(sources[:1], targets[:1])
    swapped = sources[:1].flip(1)
    assert not torch.allclose(model(swapped, targets[:1]), before)
    for position in range(9):
        changed = sources[:1].clone()
        changed[0, position] = 4 if changed[0, position] != 4 else 5
        assert not torch.allclose(model(changed, targets[:1]), before)


def test_positions_are_those_of_section_3_5():
    table = sinusoids(12, 8)
    for position in range(12):
        for pair in range(4):
            angle = position / 10_000 ** (2 * pair / 8)
            assert table[position, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_learning_rate_rises_linearly_to_its_peak_and_falls_with_the_square_root():
    rates = [transformer.learning_rate(step, 128) for step in range(1, 2000)]
    peak = rates.index(max(rates)) + 1
    assert peak == 400
    assert rates[199] == pytest.approx(max(rates) / 2)
    assert rates[1599] == pytest.approx(max(rates) / 2)
    assert max(rates) == pytest.approx((128 * 400) ** -0.5)


def test_decoding_takes_the_likeliest_token_each_time_and_stops(model, sources):
    translated = model.translate(sources, maximum_tokens=12)
    assert (translated[:, 0] == BEGIN).all()
    assert translated.shape[1] <= 13
    with torch.no_grad():
        logits = model(sources, translated[:, :-1])
    logits[..., [PADDING, BEGIN]] = -math.inf
    for row, numbers in enumerate(translated[:, 1:].tolist()):
        length = numbers.index(END) + 1 if END in numbers else len(numbers)
        assert logits[row].argmax(-1)[:length].tolist() == numbers[:length]
        assert set(numbers[length:]) <= {PADDING}


def test_decoding_ends_at_once_for_a_model_that_only_says_end(model, sources):
    class OnlyEnd(TranslationModel):
        def decode(self, targets, memory, sources):
            logits = torch.zeros(*targets.shape, TARGET_TOKENS)
            logits[..., END] = 1.0
            return logits

    ending = OnlyEnd(SOURCE_TOKENS, TARGET_TOKENS, width=32, feed_forward_width=64)
    assert ending.translate(sources).tolist() == [[BEGIN, END]] * 3


def test_training_learns_real_sentences_by_heart(capsys):
    pairs = transformer.translation.load(None).train[200:208]
    english, german = (Vocabulary(pair[side] for pair in pairs) for side in (0, 1))
    encoded = transformer.encoded(pairs, english, german)
    torch.manual_seed(0)
    model = TranslationModel(len(english), len(german), width=64, feed_forward_width=128)
    options = parser("", 8).parse_args(["--epochs", "120", "--output", "unused"])
    losses = transformer.train(model, encoded, {"test": encoded}, options)
    assert losses[-1] < 0.4 * losses[0]
    translated = model.translate(transformer.collate(encoded)[0]).tolist()
    assert [german.decode(numbers) for numbers in translated] == [" ".join(g) for _, g in pairs]
    loss, accuracy = transformer.evaluate(model, encoded, batch_size=3)
    assert accuracy == 1.0 and loss < losses[-1]
    assert capsys.readouterr().out.splitlines()[-1] == f"epoch 120 loss {losses[-1]:.6f}"
