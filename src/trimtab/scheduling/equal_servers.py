"""The response times of a cell by formula, on nodes that are equal servers of one queue."""

from collections.abc import Mapping, Sequence

from trimtab.clusters.cluster import WHOLE_GPU
from trimtab.clusters.hardware_types import GIB, node_type_of
from trimtab.config.groups.jobs.arrivals import ArrivalKind
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import Distribution, JobClassConfig, WorkConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.queueing.phase_type import PhaseType, erlang, fit_two_moments
from trimtab.queueing.poisson_priority import Discipline, execution_s, waste
from trimtab.queueing.servers.choice import Answer, ServiceTime, solve
from trimtab.records.figures import RANKS, ResponseFigures
from trimtab.records.summary import FormulaResponse, MeanBounds
from trimtab.records.trace_facts import MeasuredWorkload
from trimtab.scheduling.engine_model import is_exact, processing_time_of
from trimtab.scheduling.trace.arrival_rates import poisson_rates


def response_of_equal_servers(
    stage: TraceStage,
    original: Mapping[str, MeasuredWorkload],
    policy: Policy,
    config: PolicyConfig,
) -> FormulaResponse:
    """Return the response times on a cluster of c equal places, each for one job.

    `policy` is built from `config`. Raises UserError for what no formula covers: unequal nodes or
    demands, arrivals that are no Poisson arrivals, set-up, enclaves, sprints, outages, and jobs
    that repeat on several servers.
    """
    discipline = _discipline(policy, config)
    servers, classes = servers_of(stage), stage.trace.classes
    if stage.trace.arrivals.kind != ArrivalKind.POISSON:
        raise UserError(f"trace {stage.trace.name}: formulas for servers need Poisson arrivals")
    names = list(classes)
    if discipline is not None:
        names.sort(key=lambda name: -classes[name].priority)
        if len({facts.priority for facts in classes.values()}) < len(names):
            expected = "formulas need a priority of its own for each class"
            raise UserError(f"trace {stage.trace.name}: {expected}")
    by_class = poisson_rates(stage, original)
    rates = [by_class[name] for name in names]
    speed = node_type_of(stage.hardware[0]).levels[policy.level].speed
    services = [
        _service(name, classes[name], policy.drop_ratio.get(name, 0.0), speed, stage.trace.seed)
        for name in names
    ]
    answer = solve(rates, services, servers, discipline)
    return FormulaResponse(
        model=f"{answer.model}, c = {servers}",
        classes=dict(zip(names, _figures(answer, rates, services, discipline), strict=True)),
        bounds={
            name: MeanBounds(low_s, high_s)
            for name, (low_s, high_s) in zip(names, answer.bounds_s or [], strict=False)
        },
    )


def servers_of(stage: TraceStage) -> int:
    """Return how many jobs of a trace run at once on a cluster, whichever they are.

    Raises UserError where that depends on the jobs, and for nodes that are not equal.
    """
    cluster = stage.cluster
    if len(stage.hardware) > 1 or cluster.outages:
        raise UserError(
            f"cluster {cluster.name}: formulas need an engine (engine_slots), or nodes of one type "
            "that do not fail"
        )
    node = node_type_of(stage.hardware[0])
    demands = [
        (round(facts.cores * 1000), round(facts.gpus * 1000), int(facts.memory_gib * GIB))
        for facts in stage.trace.classes.values()
    ]
    sizes = node.cpu_milli, node.gpu_milli, node.memory_bytes
    if not demands or any(gpu % WHOLE_GPU for _, gpu, _ in demands):
        raise UserError(f"trace {stage.trace.name}: formulas need classes of whole GPUs")
    least, most = (
        min((size // asked for size, asked in zip(sizes, of_all, strict=True) if asked), default=0)
        for of_all in (
            [max(column) for column in zip(*demands, strict=True)],
            [min(column) for column in zip(*demands, strict=True)],
        )
    )
    if not least or least != most:
        raise UserError(
            f"trace {stage.trace.name} on {cluster.name}: {least} to {most} jobs fit a node; "
            "formulas need as many of any classes: give all the same cores, gpus and memory_gib"
        )
    return least * sum(cluster.nodes.values())


def _discipline(policy: Policy, config: PolicyConfig) -> Discipline | None:
    """Return the discipline of a priority queue; None: first come, first served."""
    discipline = policy.discipline()
    if discipline is None and type(policy) is not FirstComeFirstServed:
        raise UserError(f"policy {config.name}: no formula for the kind {config.kind}")
    if policy.timeout_s:
        raise UserError(f"policy {config.name}: no formula for sprints outside an engine")
    return discipline


def _service(
    name: str, facts: JobClassConfig, drop_ratio: float, speed: float, seed: int
) -> ServiceTime:
    """Return the service time of a class of jobs at a node's `speed`."""
    if facts.workload or facts.secure or facts.image_gb or facts.cold_start_s:
        raise UserError(
            f"class {name}: no formula for a measured workload, an enclave, an image or a cold "
            "start outside an engine"
        )
    if facts.rounds.map_tasks:
        drawn = processing_time_of(facts.rounds, max(1, int(facts.cores)), drop_ratio, seed)
        exact = is_exact(facts.rounds)
        return ServiceTime(drawn.mean / speed, drawn.scv, _faster(drawn, speed) if exact else None)
    mean_s, scv, phases = _work(name, facts.work)
    return ServiceTime(mean_s / speed, scv, phases and _faster(phases, speed))


def _work(name: str, work: WorkConfig) -> tuple[float, float, PhaseType | None]:
    """Return the mean, s, and variation of a job's work, and its distribution by phases."""
    mean_s = work.mean_s
    if work.distribution is Distribution.UNIFORM:
        mean_s = (work.minimum_s + work.maximum_s) / 2
    if not mean_s > 0:
        raise UserError(f"class {name}: work: mean_s: {mean_s:g} given, expected more than 0 s")
    match work.distribution:
        case Distribution.UNIFORM:
            return mean_s, (work.maximum_s - work.minimum_s) ** 2 / 12 / mean_s**2, None
        case Distribution.DETERMINISTIC:
            return mean_s, 0.0, None
        case Distribution.LOGNORMAL:
            return mean_s, work.scv, None
        case Distribution.HYPEREXPONENTIAL:
            return mean_s, work.scv, fit_two_moments(mean_s, work.scv)
        case Distribution.ERLANG:
            return mean_s, 1 / work.phases, erlang(work.phases, work.phases / mean_s)
        case _:
            return mean_s, 1.0, erlang(1, 1 / mean_s)


def _faster(time: PhaseType, speed: float) -> PhaseType:
    return PhaseType(time.alpha, time.matrix * speed)


def _figures(
    answer: Answer,
    rates: Sequence[float],
    services: Sequence[ServiceTime],
    discipline: Discipline | None,
) -> list[ResponseFigures]:
    wasted, executions_s = 0.0, [service.mean_s for service in services]
    phases = [service.phases for service in services if service.phases is not None]
    if discipline is not None and len(phases) == len(services):
        wasted = waste(rates, phases, discipline)
        executions_s = execution_s(rates, phases, discipline)
    found: list[ResponseFigures] = []
    for k, executed_s in enumerate(executions_s):
        response = answer.distributions[k] if answer.distributions else None
        p50_s, p95_s, p99_s = (
            response.quantile(rank / 100) if response else None for rank in RANKS
        )
        found.append(
            ResponseFigures(
                response_mean_s=answer.means_s[k],
                response_p50_s=p50_s,
                response_p95_s=p95_s,
                response_p99_s=p99_s,
                waiting_mean_s=answer.means_s[k] - executed_s,
                execution_mean_s=executed_s,
                waste_share=wasted,
            )
        )
    return found
