// Numbers drawn as a function of counters: SplitMix64 (Steele et al., OOPSLA 2014).
#ifndef TRIMTAB_CLUSTER_SIMULATOR_UNIFORM_H
#define TRIMTAB_CLUSTER_SIMULATOR_UNIFORM_H

#include <stdint.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
enum { RESAMPLING = 4 };  // after the numbers of the rounds (trimtab/clusters/round_times.py)

static inline uint64_t mixed(uint64_t state) {
  state = (state ^ (state >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  state = (state ^ (state >> 27)) * UINT64_C(0x94D049BB133111EB);
  return state ^ (state >> 31);
}

// Returns a number in (0, 1), as trimtab.clusters.round_times.uniform.
static inline double uniform(uint64_t seed, uint64_t job, uint64_t round_number, uint64_t task,
                             uint64_t draw) {
  uint64_t state = mixed(seed + GOLDEN);
  state = mixed((state ^ job) + GOLDEN);
  state = mixed((state ^ (round_number << 48 | task)) + GOLDEN);
  state = mixed((state ^ draw) + GOLDEN);
  return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

#endif
