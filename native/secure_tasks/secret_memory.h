/* Memory that even the kernel does not map (memfd_secret), or otherwise memory without core
 * dumps. */
#ifndef TRIMTAB_SECRET_MEMORY_H
#define TRIMTAB_SECRET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeros, shared with forked processes; null if the kernel refuses. */
void *secret_memory_new(size_t bytes, bool *is_secret);

#endif
