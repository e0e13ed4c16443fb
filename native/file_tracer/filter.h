/* The seccomp filter of the traced threads: it decides which calls are reported to the tracer, and
 * how. */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>

/* The meaning of a stop at the filter (SECCOMP_RET_DATA). */
enum { STOP_CALL = 0, STOP_FOREIGN = 1 };

/* From here on, stop at the calls of the table in this thread and in its descendants. Foreseeable
 * ones wait for an answer through `*listener` instead, which is -1 if the kernel does not support
 * that (before Linux 5.19, or with a listener of another filter). Other calls run at full speed,
 * including mappings without a file. False, with errno set, on failure. */
bool install_filter(int *listener);

#endif
