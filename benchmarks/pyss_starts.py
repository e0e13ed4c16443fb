"""Start times of pyss, the simulator of Feitelson's group, written as JSON; runs in Python 2.7.

Its arguments: the folder `src` of pyss, an SWF file, the processors of the machine, `fcfs`, `easy`
or `conservative`, the file to write.
"""

import json
import sys


def main():
    source, log, processors, discipline, result = sys.argv[1:]
    sys.path.insert(0, source)
    from base.prototype import _job_inputs_to_jobs
    from base.workload_parser import parse_lines
    from schedulers.conservative_scheduler import ConservativeScheduler
    from schedulers.easy_scheduler import EasyBackfillScheduler
    from schedulers.fcfs_scheduler import FcfsScheduler
    from schedulers.simulator import Simulator

    scheduler = {
        "fcfs": FcfsScheduler,
        "easy": EasyBackfillScheduler,
        "conservative": ConservativeScheduler,
    }[discipline](int(processors))
    with open(log) as lines:
        jobs = list(_job_inputs_to_jobs(parse_lines(lines), int(processors)))
    Simulator(jobs, int(processors), scheduler).run()
    with open(result, "w") as written:
        json.dump({str(job.id): job.start_to_run_at_time for job in jobs}, written)


if __name__ == "__main__":
    main()
