// The records of the simulator of a cluster. trimtab/policies/layout.py has the same fields and says
// what they mean; a test compares the two.
#ifndef TRIMTAB_CLUSTER_SIMULATOR_RECORDS_H
#define TRIMTAB_CLUSTER_SIMULATOR_RECORDS_H

#include <stdint.h>

#define JOB(f8, i8, u8)                                                                            \
  i8(job) i8(shape) i8(node) i8(level) i8(heap) i8(before) i8(after) f8(arrival_s) f8(work_s)      \
  f8(left_s) f8(since_s) f8(ready_s) f8(begun_s) f8(allocation_s) f8(finish_s) f8(draw_s)          \
  f8(sprint_s) f8(switch_s) f8(there_draw_s) f8(drawing_w) f8(drawing_gpu_w) f8(drawing_since_s)   \
  f8(drawing_from) i8(there) i8(there_level) f8(there_since_s) f8(there_w) f8(there_gpu_w)         \
  f8(there_drawing_since_s) f8(there_drawing_from) f8(first_s) f8(kept_s) f8(wasted_s)             \
  f8(set_up_s) f8(sprinted_s) f8(energy_j) i8(evictions) i8(migrations) i8(dropped)                \
  i8(sprinting) i8(gpus) i8(there_gpus)
#define NODE(f8, i8, u8)                                                                           \
  i8(type) i8(up) i8(cpu) i8(gpu) i8(memory) i8(free_cpu) i8(free_gpu) i8(free_memory)             \
  i8(drawing) i8(drawing_cpu) i8(freed) i8(largest_gpu) f8(watts) f8(gpu_watts) f8(at_s)           \
  f8(factor) f8(factor_s) f8(active_j) f8(busy_core_s) f8(down_s) f8(down_since_s) f8(gpu_at_s)    \
  f8(free_gpu_s) f8(fragmented_gpu_s)
#define SHAPE(f8, i8, u8)                                                                          \
  i8(job_class) i8(priority) i8(cpu) i8(gpu) i8(memory) i8(first) i8(last) i8(waiting) i8(rank)    \
  i8(leaf) i8(aside)
#define QUEUE(f8, i8, u8) i8(cpu) i8(gpu) i8(memory) i8(rank) i8(job) i8(shape)
#define CLOCK(f8, i8, u8)                                                                          \
  f8(now_s) f8(tick_s) f8(sample_s) f8(maintain_s) f8(budget_s) f8(budget_at_s) f8(empty_s)        \
  i8(sprinters) i8(changed) i8(in_heap) i8(pending) i8(running) i8(first_running)                  \
  i8(last_running) i8(free_slot) i8(outage) i8(next_node) i8(rows) i8(allocations) i8(events)      \
  i8(fresh) i8(freed) i8(waiting_cpu) i8(waiting_gpu) i8(waiting_memory)
#define RULES(f8, i8, u8)                                                                          \
  i8(placement) i8(level) i8(by_priority) i8(head_of_line) i8(evicts) i8(resumes)                  \
  i8(free_migration) i8(resamples) i8(restarts_moved) i8(hold_when_pending) i8(choose_level)       \
  f8(migration_gain) i8(random_weights) u8(weight_seed) i8(scores_images) i8(nodes_to_find)        \
  f8(tick_s) i8(sprint_level) f8(budget_s) f8(replenish_s_per_s) i8(records_allocations)
#define FREE(f8, i8, u8) i8(cpu) i8(gpu) i8(memory)
#define ARRIVAL(f8, i8, u8) i8(job) i8(shape) f8(arrival_s) f8(work_s) i8(dropped)
#define HEAP(f8, i8, u8) f8(time_s) i8(order) i8(slot)
#define OUTAGE(f8, i8, u8) f8(time_s) i8(node) i8(up)
#define ALLOCATION_ROW(f8, i8, u8)                                                                 \
  i8(job) i8(node) i8(level) i8(cpu_milli) f8(start_s) f8(ready_s) f8(end_s) i8(end)
#define FINISHED_ROW(f8, i8, u8)                                                                   \
  i8(job) i8(job_class) i8(priority) i8(cpu_milli) f8(arrival_s) f8(start_s) f8(finish_s)          \
  f8(response_s) f8(execution_s) f8(wasted_s) f8(set_up_s) f8(sprint_s) i8(dropped_tasks)          \
  i8(evictions) i8(migrations) i8(node) i8(level) f8(energy_j)
#define KIND(f8, i8, u8)                                                                           \
  i8(levels) i8(linear) i8(nodes) i8(first_node) i8(tree) i8(leaves) i8(gpu_slices) f8(score)
#define JOB_CLASS(f8, i8, u8) f8(cold_start_s) f8(sprint_after_s) f8(energy_weight)
#define CLASS_ON_TYPE(f8, i8, u8)                                                                  \
  f8(pull_s) f8(pause_s) f8(absent_s) f8(absent_j) f8(present_s) f8(present_j) i8(runs)
#define SERVICE_RATE(f8, i8, u8) f8(speed) f8(watts) f8(gpu_watts) f8(run_time_s) f8(energy_j)

#define FRACTION(name) double name;
#define WHOLE(name) int64_t name;
#define UNSIGNED(name) uint64_t name;
#define RECORD(tag, fields) struct tag { fields(FRACTION, WHOLE, UNSIGNED) };

RECORD(job, JOB)
RECORD(node, NODE)
RECORD(shape, SHAPE)
RECORD(queue, QUEUE)
RECORD(clock, CLOCK)
RECORD(rules, RULES)
RECORD(free, FREE)
RECORD(arrival, ARRIVAL)
RECORD(heap_entry, HEAP)
RECORD(outage, OUTAGE)
RECORD(allocation_row, ALLOCATION_ROW)
RECORD(finished_row, FINISHED_ROW)
RECORD(kind, KIND)
RECORD(job_class, JOB_CLASS)
RECORD(class_on_type, CLASS_ON_TYPE)
RECORD(service_rate, SERVICE_RATE)

enum { NIL = -1, WHOLE_GPU = 1000 };
#define LAST INT64_MAX  // in place of a job's number or rank
enum event { FINISH, DRAW, DRAW_THERE, SWITCH, SPRINT };
enum reason { DONE, NEED_ARRIVALS, NEED_SLOTS, NEED_OUTPUT, SAMPLE, MAINTAIN };
enum ending { FINISHED, EVICTED, MIGRATED, FAILED, LEVEL };
enum image { WITHOUT, WITH, ANY };  // nodes to search: by the job's image
enum placement { FIRST_FIT, HEATS, HEATS_AS_RELEASED, KUBERNETES };

#endif
