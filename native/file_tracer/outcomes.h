/* Turn the outcome of a look-up, past or foreseen, into recorded uses of files. */
#ifndef OUTCOMES_H
#define OUTCOMES_H

#include <stdbool.h>
#include <stdint.h>

#include "accesses.h"

/* Whether `target` was found before, with the same use: again adds nothing. */
bool is_known(const struct target *target);

/* The call of `tracee` that looked up `target` has ended with `result`, negative for errors. */
void record_outcome(const struct tracee *tracee, const struct target *target, int64_t result);

/* The foreseeable call of `tracee`, with these flags if it opens, is about to look up `target`. */
void record_foreseen(const struct tracee *tracee, const struct target *target, uint64_t flags);

/* Whether `path` is missing; with `follow`, a dangling link counts as missing. */
bool is_absent(const char *path, bool follow);

/* Forget all known paths: some may lead elsewhere now. */
void forget_outcomes(void);

#endif
