"""Bayesian optimisation of two objectives with BoTorch (Balandat et al. 2020).

A closed loop on a noisy Branin-Currin, as in BoTorch's tutorial on multi-objective optimisation:
qNParEGO, qEHVI and qNEHVI (Daulton et al. 2021), compared with Sobol points.
"""

from argparse import Namespace
from typing import Any

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.multi_objective.logei import (
    qLogExpectedHypervolumeImprovement,
    qLogNoisyExpectedHypervolumeImprovement,
)
from botorch.acquisition.objective import GenericMCObjective
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.test_functions.multi_objective import BraninCurrin
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
from botorch.utils.multi_objective.hypervolume import Hypervolume
from botorch.utils.multi_objective.pareto import is_non_dominated
from botorch.utils.multi_objective.scalarization import get_chebyshev_scalarization
from botorch.utils.sampling import draw_sobol_samples, sample_simplex
from botorch.utils.transforms import unnormalize
from gpytorch.mlls import SumMarginalLogLikelihood

from trimtab.workloads.common import program
from trimtab.workloads.common.command import mark_epoch, mark_first_iteration

_NOISE = torch.tensor([15.19, 0.63], dtype=torch.double)  # standard deviations, as in the tutorial
_FIRST = 6  # points
_UNIT = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)


def run(options: Namespace) -> dict[str, Any]:
    """Return the dominated hypervolume of each method after each iteration."""
    problem = BraninCurrin(negate=True).to(dtype=torch.double, device=options.device)
    first = draw_sobol_samples(_UNIT.to(options.device), _FIRST, 1, seed=options.seed).squeeze(1)
    seen = {
        name: (first, _observed(problem, first, _generator(options.seed)))
        for name in ("sobol", *_METHODS)
    }
    volumes: dict[str, list[float]] = {name: [] for name in seen}
    for iteration in range(1, options.iterations + 1):
        for number, (name, (points, values)) in enumerate(seen.items()):
            torch.manual_seed(options.seed + iteration)
            if name == "sobol":
                drawn = draw_sobol_samples(
                    _UNIT.to(options.device), options.batch_size, 1, seed=options.seed + iteration
                )
                new = drawn.squeeze(1)
            else:
                new = _best(name, problem, points, values, options)
            noise = _generator(options.seed + 100 * iteration + number)
            seen[name] = (
                torch.cat([points, new]),
                torch.cat([values, _observed(problem, new, noise)]),
            )
            volumes[name].append(_volume(problem, seen[name][0]))
        if iteration == 1:
            mark_first_iteration()
        mark_epoch(iteration, problem.max_hv - volumes["qnehvi"][-1])
    return {
        "data": {"name": "Branin-Currin", "source": "a function of BoTorch's"},
        "hypervolume": volumes,
        "largest_hypervolume": problem.max_hv,
    }


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _observed(problem: Any, points: Any, random: torch.Generator) -> Any:
    exact = problem(unnormalize(points, problem.bounds))
    noise = torch.randn(exact.shape, generator=random, dtype=torch.double) * _NOISE
    return exact + noise.to(exact.device)


def _volume(problem: Any, points: Any) -> float:
    exact = problem(unnormalize(points, problem.bounds))
    front = exact[is_non_dominated(exact)]
    return float(Hypervolume(ref_point=problem.ref_point).compute(front))


def _best(name: str, problem: Any, points: Any, values: Any, options: Namespace) -> Any:
    """Return the batch of points that maximises a method's acquisition function."""
    variances = (_NOISE.to(values.device) ** 2).expand(len(values), 2)
    models = [
        SingleTaskGP(points, values[:, [i]], variances[:, [i]], outcome_transform=Standardize(m=1))
        for i in range(values.shape[1])
    ]
    model = ModelListGP(*models)
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    sampler = SobolQMCNormalSampler(torch.Size([options.samples]), seed=options.seed)
    chosen, _ = optimize_acqf(
        _METHODS[name](problem, model, points, sampler),
        bounds=_UNIT.to(points.device),
        q=options.batch_size,
        num_restarts=options.restarts,
        raw_samples=16 * options.restarts,
        options={"batch_limit": 5, "maxiter": options.optimiser_steps},
        sequential=True,
    )
    return chosen.detach()


def _qnparego(_: Any, model: Any, points: Any, sampler: Any) -> Any:
    weights = sample_simplex(2, dtype=torch.double).squeeze().to(points.device)
    with torch.no_grad():
        mean = model.posterior(points).mean
    scalarised = get_chebyshev_scalarization(weights=weights, Y=mean)
    objective = GenericMCObjective(lambda values, X=None: scalarised(values))  # noqa: N803
    return qLogNoisyExpectedImprovement(
        model, points, sampler=sampler, objective=objective, prune_baseline=True
    )


def _qehvi(problem: Any, model: Any, points: Any, sampler: Any) -> Any:
    with torch.no_grad():
        mean = model.posterior(points).mean
    cells = FastNondominatedPartitioning(ref_point=problem.ref_point, Y=mean)
    return qLogExpectedHypervolumeImprovement(
        model, ref_point=problem.ref_point, partitioning=cells, sampler=sampler
    )


def _qnehvi(problem: Any, model: Any, points: Any, sampler: Any) -> Any:
    return qLogNoisyExpectedHypervolumeImprovement(
        model, ref_point=problem.ref_point.tolist(), X_baseline=points, sampler=sampler,
        prune_baseline=True,
    )  # fmt: skip


_METHODS = {"qnparego": _qnparego, "qehvi": _qehvi, "qnehvi": _qnehvi}

if __name__ == "__main__":
    program.main(
        "Bayesian optimisation of two objectives.",
        4,
        run,
        iterations=3,
        samples=32,
        restarts=4,
        optimiser_steps=50,
    )
