/* From how a look-up ends, or will end, to the uses of files on record. */
#ifndef OUTCOMES_H
#define OUTCOMES_H

#include <stdbool.h>
#include <stdint.h>

#include "accesses.h"

/* Whether `target` was found before, used in the same way: another time tells nothing. */
bool is_known(const struct target *target);

/* The call of `tracee` that looked `target` up has ended with `result`, negative for errors. */
void record_outcome(const struct tracee *tracee, const struct target *target, int64_t result);

/* The foreseeable call of `tracee`, with these flags if it opens, is about to look `target` up. */
void record_foreseen(const struct tracee *tracee, const struct target *target, uint64_t flags);

/* Whether there is nothing at `path`; a link that leads nowhere is not there if `follow`. */
bool is_absent(const char *path, bool follow);

/* Forget what is known of paths: some lead elsewhere now. */
void forget_outcomes(void);

#endif
