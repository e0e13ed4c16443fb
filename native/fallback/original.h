/* The bytes of a library's original: in its own file, or in a store. */
#ifndef TRIMTAB_ORIGINAL_H
#define TRIMTAB_ORIGINAL_H

#include <stddef.h>
#include <stdint.h>

#include "put_back.h"
#include "sidecar.h"

/* TRIMTAB_STORE, a folder or an address, overrides the sidecars' store. */
void choose_store(void);

/* The miss for which the original is read next: a server is told. */
void tell_of(const struct sidecar *sidecar, const struct miss *miss);

/* Copy `bytes` at `offset` of the original to `to`. They are accepted if their chunk has the
 * sidecar's digest; otherwise the program ends with a message about `library`. */
void read_original(const struct sidecar *sidecar, const char *library, uint64_t offset, uint8_t *to,
                   size_t bytes);

/* Copy the name at `offset`, ended by a zero; "" if it would have to be fetched. */
void read_name(const struct sidecar *sidecar, uint64_t offset, char *name, size_t name_bytes);

#endif
