"""The chance that a job waits for one of several exponential servers."""

from trimtab.queueing.errors import ModelError, UnstableQueueError


def check_load(offered: float, servers: int) -> None:
    """Raise ModelError without a server, and UnstableQueueError for a load of one or more.

    `offered` is the arrival rate times the mean service time.
    """
    if servers < 1:
        raise ModelError(f"a queue has one server or more, not {servers}")
    if not offered < servers:
        raise UnstableQueueError(
            f"the load is {offered / servers:.4g}: it must be below 1; lower the arrival rates or "
            "the service times, or add servers"
        )


def waiting_probability(offered: float, servers: int) -> float:
    """Return the probability that a job of M/M/c waits (Erlang's C formula).

    Raises as `check_load`.
    """
    check_load(offered, servers)
    blocked = 1.0  # Erlang's B formula, by its recursion over servers
    for busy in range(1, servers + 1):
        blocked = offered * blocked / (busy + offered * blocked)
    return servers * blocked / (servers - offered * (1 - blocked))


def mean_wait_s(rate: float, mean_s: float, servers: int) -> float:
    """Return the mean waiting time of M/M/c, s; raises as `check_load`."""
    return waiting_probability(rate * mean_s, servers) * mean_s / (servers - rate * mean_s)
