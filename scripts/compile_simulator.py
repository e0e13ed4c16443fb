"""Rule compile_simulator: the kernel's machine code, once for all cells that wait for it."""

from trimtab.processes.supervision import supervised

# One job is enough: the kernel is one function for all policies.
with supervised():
    import pandas as pd

    from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
    from trimtab.policies.priority import Priority
    from trimtab.simulation.simulate import simulate

    simulate(
        Cluster((NodeType("node", 1000, 1, 0.0, (Level(1.0, 1.0),)),), (1,)),
        [JobClass("job")],
        pd.DataFrame(
            {
                "job": [0],
                "arrival_s": [0.0],
                "job_class": ["job"],
                "priority": [0],
                "cpu_milli": [1000],
                "gpu_milli": [0],
                "memory_bytes": [0],
                "work_s": [1.0],
            }
        ),
        Priority(),
    )
