/* Memory that even the kernel does not map (memfd_secret), else memory that no core dump holds. */
#ifndef TRIMTAB_SECRET_MEMORY_H
#define TRIMTAB_SECRET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeros, shared with processes that are forked; null where the kernel refuses. */
void *secret_memory_new(size_t bytes, bool *is_secret);

#endif
