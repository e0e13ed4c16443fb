/* Finds jumps in code without decoding it. */
#ifndef TRIMTAB_JUMPS_H
#define TRIMTAB_JUMPS_H

#include <stdint.h>

/* Whether bytes within 256 of `target` look like a jump to it. The code from `begin` to `end` has at
 * least 32 bytes. */
int is_jumped_to(const uint8_t *target, const uint8_t *begin, const uint8_t *end);

#endif
