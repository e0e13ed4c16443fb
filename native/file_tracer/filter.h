/* The seccomp filter of the traced threads: which of their calls the tracer is asked about, and how. */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>

/* What a stop at the filter means (SECCOMP_RET_DATA). */
enum { STOP_CALL = 0, STOP_FOREIGN = 1 };

/* From here on, stop at the calls of the table in this thread and in all that it starts; those that
 * are foreseeable wait for a word through `*listener` instead, which is -1 where the kernel cannot do
 * that (before Linux 5.19, or where another filter has a listener). Other calls run at full speed,
 * also mappings without a file. False, with errno set, on failure. */
bool install_filter(int *listener);

#endif
