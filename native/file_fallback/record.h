/* The handling of misses: the record, the message to the user, and the hook at a process's end. */
#ifndef TRIMTAB_RECORD_H
#define TRIMTAB_RECORD_H

#include <stdint.h>

#include "system.h"

/* Read the settings for misses; returns whether they end the process (`strict`). */
/* Whether the other fallback writes down what this program maps. */
extern int notes_mapped;
int start_record(char **variables);

/* Write the line of an entry that was missed, as the record has it. */
void put_miss(struct text *line, const char *path, uint32_t kind);

/* Record that an entry was missed, and return 1; under `strict` it ends the process. */
int note_miss(const char *path, uint32_t kind);

/* End the process in the same way as its child, which ended with STATUS_REMOVED, if that missed
 * something. */
GENERAL void end_with_child(long child);

#endif
