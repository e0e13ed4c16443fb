/* The bytes that the original of a library has: in its own file, or in a store. */
#ifndef TRIMTAB_ORIGINAL_H
#define TRIMTAB_ORIGINAL_H

#include <stddef.h>
#include <stdint.h>

#include "sidecar.h"

/* By TRIMTAB_STORE, a folder or an address, which takes the place of what sidecars say. */
void choose_store(void);

/* Copy `bytes` at `offset` of the original to `to`. They are believed when their chunk has the
 * digest that the sidecar gives; otherwise the program ends with a message about `library`. */
void read_original(const struct sidecar *sidecar, const char *library, uint64_t offset, uint8_t *to,
                   size_t bytes);

/* Copy the name at `offset`, ended by a zero; "" where it would have to be fetched. */
void read_name(const struct sidecar *sidecar, uint64_t offset, char *name, size_t name_bytes);

#endif
