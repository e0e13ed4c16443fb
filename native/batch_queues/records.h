// The records of the simulator of batch queues. trimtab/batch/kernel/layout.py has the same fields
// and says what they mean; a test compares the two.
#ifndef TRIMTAB_BATCH_QUEUES_RECORDS_H
#define TRIMTAB_BATCH_QUEUES_RECORDS_H

#include <stdint.h>

#define JOB(f8, i8)                                                                                \
  f8(submit_s) f8(run_s) f8(estimate_s) f8(tier) f8(start_s) f8(waking_s) f8(end_s)    \
  f8(ends_s) f8(planned_s) f8(share) f8(serial_share) f8(startup_s) f8(pulled_bytes) i8(kind) i8(parts) i8(user)  \
  i8(type) i8(first) i8(nodes) i8(planned_type) i8(tried) i8(recorded_parts) i8(least_parts)     \
  i8(most_parts) i8(image) i8(pulls) i8(held_mw) i8(leaf)
#define PROGRESS(f8, i8)                                                                           \
  f8(interval_s) f8(cost_s) f8(restart_cost_s) f8(restart_s) f8(leaving_s) i8(saves) i8(leaving) \
  i8(interruptions) i8(target) i8(preemptable) i8(yields)
#define RUN(f8, i8)                                                                                \
  f8(start_s) f8(end_s) f8(waking_s) f8(startup_s) f8(restart_s) f8(checkpoint_s) f8(saved_s)    \
  f8(lost_s) f8(pulled_bytes) i8(job) i8(type) i8(parts) i8(nodes) i8(first) i8(pulls) i8(cause)
#define KIND(f8, i8) i8(cpu) i8(memory) i8(gpu) i8(distinct)
#define ALLOCATION(f8, i8) i8(node) i8(parts) i8(gpus) i8(next)
#define TYPE(f8, i8)                                                                               \
  f8(sleep_after_s) f8(wake_s) i8(first_node) i8(nodes) i8(cpu) i8(memory) i8(gpu) i8(version)   \
  i8(swept) i8(lowest) i8(saved_mw) i8(off) i8(first_idle) i8(last_idle)
#define NODE(f8, i8)                                                                               \
  f8(idle_s) f8(asleep_s) f8(reclaimed_s) i8(parts) i8(changed) i8(reserved) i8(asleep)          \
  i8(idle_before) i8(idle_after)
#define SITE(f8, i8)                                                                               \
  f8(slowdown) i8(most_parts) i8(failed_parts) i8(failed_at) i8(kept_out_parts) i8(kept_out_at)  \
  i8(part_mw)
#define STEP(f8, i8) f8(at_s) i8(cpu) i8(memory) i8(gpu) i8(power)
#define IMAGE(f8, i8) f8(fetch_s) f8(warm_s) f8(bytes) i8(first_layer) i8(layers)
#define GROUP(f8, i8) i8(kind) i8(first) i8(leaves) i8(untried) i8(open) i8(place)
#define USER(f8, i8) f8(share) f8(usage_s) f8(at_s)
#define CLOCK(f8, i8)                                                                              \
  f8(now_s) f8(reorder_at_s) f8(half_life_s) f8(shadow_s) f8(reclaim_at_s) f8(claimed_s) f8(link_free_s) f8(link_bytes_per_s)         \
  i8(arrived) i8(ordered) i8(waiting) i8(fresh) i8(running) i8(changed) i8(reserved) i8(free)    \
  i8(space) i8(keeps) i8(grown) i8(head) i8(shadow_type) i8(backfill) i8(most_cpu)               \
  i8(most_memory) i8(most_gpu) i8(cap_mw) i8(power_mw) i8(peak_mw) i8(held_mw) i8(later_mw)      \
  i8(submissions) i8(unfinished) i8(interrupts) i8(logged) i8(shrunk) i8(rounds) i8(stuck)       \
  i8(preempts) i8(yielding) i8(claimant) i8(active) i8(trees)

#define FRACTION(name) double name;
#define WHOLE(name) int64_t name;
#define RECORD(tag, fields) struct tag { fields(FRACTION, WHOLE) };

RECORD(job, JOB)
RECORD(progress, PROGRESS)
RECORD(run, RUN)
RECORD(kind, KIND)
RECORD(allocation, ALLOCATION)
RECORD(type, TYPE)
RECORD(node, NODE)
RECORD(site, SITE)
RECORD(step, STEP)
RECORD(image, IMAGE)
RECORD(group, GROUP)
RECORD(user, USER)
RECORD(clock, CLOCK)

enum { CPU, MEMORY, GPUS };  // columns of a node's row; GPUS is the first GPU
enum { WHOLE_GPU = 1000, NIL = -1, MOST_INTERRUPTIONS = 10000 };
#define NO_CAP ((int64_t)1 << 62)
enum reason { DONE, NEED_SPACE, NEED_ORDER, GO_ON, NODE_RECLAIMED, STUCK };
enum cause { BY_RECLAIM, BY_PRIORITY, BY_ROUND };
enum backfill { NONE, ANY, EASY, CONSERVATIVE };  // as Backfill of trimtab/batch/policies/base.py
enum openness { ALL, SHORT, SHUT, UNSEEN };       // `open` of a group
enum yields { STAYS, GIVES_WAY, CHOSEN };         // `yields` of a job's progress

#endif
