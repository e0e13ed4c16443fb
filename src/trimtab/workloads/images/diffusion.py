"""Improved diffusion (Nichol and Dhariwal 2021) on images, with diffusers' U-Net.

The noise schedule is a cosine (section 3.2). The hybrid loss (section 3.1) learns the variances;
only its mean squared error affects the means.
"""

from argparse import Namespace
from typing import Any

import numpy as np
import torch
from diffusers import DDPMScheduler, UNet2DModel

from trimtab.workloads.common import program
from trimtab.workloads.common.classification import scaled
from trimtab.workloads.common.command import mark_epoch, mark_first_iteration
from trimtab.workloads.data import photographs

_BOUND_WEIGHT = 1e-3  # weight of the variational bound in the hybrid loss
_STEPS_AN_EPOCH = 8


def build(width: int, side: int) -> Any:
    """Return a U-Net of three depths with attention at the last one, for noise and variances."""
    return UNet2DModel(
        sample_size=side,
        in_channels=3,
        out_channels=6,
        layers_per_block=2,
        block_out_channels=(width, 2 * width, 2 * width),
        down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
        attention_head_dim=8,
    )


def hybrid_loss(model: Any, schedule: Any, images: Any, order: torch.Generator) -> Any:
    """Return the mean squared error of the noise, plus the weighted bound, equation 16."""
    steps = schedule.config.num_train_timesteps
    step = torch.randint(1, steps, (len(images),), generator=order).to(images.device)
    noise = torch.randn(images.shape, generator=order).to(images.device)
    noisy = schedule.add_noise(images, noise, step)
    found, share = model(noisy, step).sample.chunk(2, dim=1)
    products = schedule.alphas_cumprod.to(images.device)
    now, before = products[step][:, None, None, None], products[step - 1][:, None, None, None]
    alpha = now / before
    beta = 1 - alpha
    least = (beta * (1 - before) / (1 - now)).log()  # of the posterior, equation 10
    log_variance = torch.lerp(least, beta.log(), (share + 1) / 2)  # equation 15
    mean_error = beta / ((1 - now).sqrt() * alpha.sqrt()) * (noise - found.detach())
    divergence = 0.5 * (
        log_variance - least + (least - log_variance).exp() - 1
        + mean_error.square() * (-log_variance).exp()
    )  # fmt: skip
    return (noise - found).square().mean() + _BOUND_WEIGHT * steps * divergence.mean()


def run(options: Namespace) -> dict[str, Any]:
    """Train and draw one image; return the losses and statistics of the image."""
    random = np.random.default_rng(options.seed)
    pieces = torch.from_numpy(photographs.pieces(256, options.side, random))
    images = scaled(pieces).to(options.device)
    model = build(options.width, options.side).to(options.device)
    schedule = DDPMScheduler(
        num_train_timesteps=1000, beta_schedule="squaredcos_cap_v2", variance_type="learned_range"
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    order = torch.Generator().manual_seed(options.seed)
    losses: list[float] = []
    for step in range(options.steps):
        some = torch.randint(len(images), (options.batch_size,), generator=order)
        optimiser.zero_grad()
        loss = hybrid_loss(model, schedule, images[some.to(images.device)], order)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if step == 0:
            mark_first_iteration()
        if (step + 1) % _STEPS_AN_EPOCH == 0:
            mark_epoch((step + 1) // _STEPS_AN_EPOCH, losses[-1])
    drawn = _drawn(model, schedule, options, order)
    return {
        "data": {"name": "pieces of photographs", "source": photographs.source()},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train_loss": losses[-1],
        "sample_mean": drawn.mean().item(),
        "sample_deviation": drawn.std().item(),
    }


def _drawn(model: Any, schedule: Any, options: Namespace, order: torch.Generator) -> Any:
    """Return an image from noise, with fewer steps than in training, section 4."""
    model.eval()
    schedule.set_timesteps(options.sampling_steps)
    image = torch.randn((1, 3, options.side, options.side), generator=order).to(options.device)
    with torch.inference_mode():
        for step in schedule.timesteps:
            image = schedule.step(model(image, step).sample, step, image, order).prev_sample
    return image


if __name__ == "__main__":
    program.main(
        "Improved diffusion on pieces of photographs.",
        16,
        run,
        learning_rate=1e-4,
        width=64,
        side=32,
        steps=64,
        sampling_steps=16,
    )
