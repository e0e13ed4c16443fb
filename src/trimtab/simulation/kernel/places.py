"""The placement rules of the policies, compiled.

Each rule does the same operations in the same order as the policy object of its name, so both make
the same choice to the last bit.
"""

from typing import Any

import numpy as np

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies import layout
from trimtab.policies.layout import NIL, KernelModel, KernelState, index
from trimtab.simulation.kernel.capacity import first_with_room, next_with_room, search
from trimtab.simulation.kernel.running import resolved

_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64, as in policies.heats.policy.random_weight
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_LEAST_CPU_MILLI, _LEAST_MEMORY_BYTES = 100, 200 * 1024 * 1024  # as in policies.kubernetes


@inlined
def _first_fit(m: KernelModel, s: KernelState, shape: Any) -> int:
    for kind in range(len(m.kinds)):
        node = search(m, s, kind, shape, layout.ANY, NIL)
        if node != NIL:
            return node
    return NIL


@lean
def _weight(m: KernelModel, shape: Any, job: int) -> float:
    rules = m.rules[0]
    if not rules.random_weights:
        return float(m.classes[shape.job_class].energy_weight)
    state = np.uint64(rules.weight_seed) + np.uint64(job + 1) * _GAMMA
    state = (state ^ (state >> _S30)) * _MIX_1
    state = (state ^ (state >> _S27)) * _MIX_2
    return float((state ^ (state >> _S31)) >> _S11) * 2.0**-53


@lean
def _heats(
    m: KernelModel, s: KernelState, shape: Any, job: int, own: int, own_level: int
) -> tuple[int, int, float, float]:
    """Return the best node and level, its score, and the score of the job's present ones.

    Nodes of one type differ only in the image, so the first one represents the others.
    """
    rules, job_class, types = m.rules[0], shape.job_class, len(m.kinds)
    nodes = s.candidates  # [type]: without the image, with it, the job's own
    nodes[:] = NIL
    for kind in range(types):
        if rules.scores_images:
            nodes[kind, 0] = first_with_room(m, s, kind, shape, layout.WITHOUT, own)
            nodes[kind, 1] = first_with_room(m, s, kind, shape, layout.WITH, own)
        else:
            nodes[kind, 1] = first_with_room(m, s, kind, shape, layout.ANY, own)
    if own != NIL:
        nodes[s.nodes[own].type, 2] = own
    weight = _weight(m, shape, job)
    best, best_level, best_score, own_score = NIL, 0, 0.0, np.nan
    most_j = most_performance = 0.0
    for scoring in range(2):  # first the maxima, then the scores
        for kind in range(types):
            for image in range(3):
                node = nodes[kind, image]
                if node == NIL:
                    continue
                site = m.sites[job_class, kind]
                more_s = more_j = 0.0
                if image == layout.WITHOUT:
                    more_s, more_j = site.absent_s, site.absent_j
                elif image == layout.WITH:
                    more_s, more_j = site.present_s, site.present_j
                highest = m.kinds[kind].levels - 1
                for level in range(0 if rules.choose_level else highest, highest + 1):
                    pace = m.paces[job_class, kind, level]
                    energy = pace.energy_j + more_j
                    performance = 1.0 / (pace.run_time_s + more_s)
                    if scoring == 0:
                        most_j = max(most_j, energy)
                        most_performance = max(most_performance, performance)
                        continue
                    score = weight * (1.0 - energy / most_j) + (1.0 - weight) * (
                        performance / most_performance
                    )
                    if node == own and level == own_level:
                        own_score = score
                    if best == NIL or score > best_score or (score == best_score and node < best):
                        best, best_level, best_score = node, level, score
    return best, best_level, best_score, own_score


@lean
def _best_type(m: KernelModel, s: KernelState, shape: Any, own: int) -> int:
    """Return the first node with room of the best-scoring types; `own` has room."""
    best, best_score = NIL, 0.0
    for kind in range(len(m.kinds)):
        node = first_with_room(m, s, kind, shape, layout.ANY, own)
        if own != NIL and s.nodes[own].type == kind and (node == NIL or own < node):
            node = own
        if node != NIL and (best == NIL or m.kinds[kind].score > best_score):
            best, best_score = node, m.kinds[kind].score
    return best


@lean
def _least(used: int, capacity: int) -> int:
    return 0 if used > capacity else (capacity - used) * 100 // capacity


@lean
def _points(shape: Any, node: Any) -> int:
    cpu_used, memory_used = node.cpu - node.free_cpu, node.memory - node.free_memory
    asked_cpu = shape.cpu if shape.cpu else _LEAST_CPU_MILLI
    asked_memory = shape.memory if shape.memory else _LEAST_MEMORY_BYTES
    least = (
        _least(cpu_used + asked_cpu, node.cpu) + _least(memory_used + asked_memory, node.memory)
    ) // 2
    cpu_share = (cpu_used + shape.cpu) / node.cpu
    memory_share = (memory_used + shape.memory) / node.memory
    return int(least + int((1.0 - abs((cpu_share - memory_share) / 2.0)) * 100.0))


@lean
def _kubernetes(m: KernelModel, s: KernelState, shape: Any) -> int:
    clock, count = s.clock[0], len(s.nodes)
    best, best_points, found = NIL, -1, 0
    begin = clock.next_node
    for end in (count, begin):  # from the beginning on, then the nodes before
        number = next_with_room(m, s, shape, begin if end == count else 0)
        while number != NIL and number < end:
            points = _points(shape, s.nodes[index(number)])
            if points > best_points or (points == best_points and number < best):
                best, best_points = number, points
            found += 1
            if found == m.rules[0].nodes_to_find:
                clock.next_node = (number + 1) % count
                return best
            number = next_with_room(m, s, shape, number + 1)
    return best


@inlined
def place(m: KernelModel, s: KernelState, number: int) -> tuple[int, int]:
    """Return the node and the level for the first job of shape `number`; NIL: it waits."""
    shape, rule = s.shapes[number], m.rules[0].placement
    if rule == layout.HEATS:
        node, level, _, _ = _heats(m, s, shape, s.jobs[shape.first].job, NIL, layout.NO_LEVEL)
        return node, level
    if rule == layout.FIRST_FIT:
        node = _first_fit(m, s, shape)
    elif rule == layout.HEATS_AS_RELEASED:
        node = _best_type(m, s, shape, NIL)
    else:
        node = _kubernetes(m, s, shape)
    if node == NIL:
        return NIL, 0
    return node, resolved(m, s.nodes[node].type, m.rules[0].level)


@lean
def place_again(m: KernelModel, s: KernelState, slot: int) -> tuple[int, int]:
    """Return the node and the level to move a running job to; NIL: it stays."""
    job, rules = s.jobs[slot], m.rules[0]
    shape = s.shapes[job.shape]
    if rules.placement == layout.HEATS:
        node, level, score, own_score = _heats(m, s, shape, job.job, job.node, job.level)
        if score - own_score > rules.migration_gain:
            return node, level
    elif rules.placement == layout.HEATS_AS_RELEASED:
        node = _best_type(m, s, shape, job.node)
        kind = s.nodes[node].type
        if kind != s.nodes[job.node].type:
            return node, resolved(m, kind, rules.level)
    return NIL, 0
