/* What is known of misses: the record, the message to people, and the hook at a process's end. */
#ifndef TRIMTAB_RECORD_H
#define TRIMTAB_RECORD_H

#include <stdint.h>

#include "system.h"

/* Learn what is to be done of misses; whether they end the process (`strict`). */
int start_record(char **variables);

/* Record that an entry was missed, and return 1; under `strict` it ends the process. */
int note_miss(const char *path, uint32_t kind);

/* End the process as its child ended that just did with STATUS_REMOVED, if that missed something. */
GENERAL void end_with_child(long child);

#endif
