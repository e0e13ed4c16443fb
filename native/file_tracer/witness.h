/* A second source for the files that the run opens: fanotify(7) on the mounts, if root allows it.
 *
 * It reports files that the kernel opens itself, and files opened by calls that the filter does not
 * report. It reports no file that is only looked up, and no link. */
#ifndef WITNESS_H
#define WITNESS_H

#include <stdbool.h>

/* Begin, before the command starts; false if it is not available. */
bool call_witness(void);

/* Take all pending events. */
void hear_witness(void);

/* After the run, add opened files to the record that are missing there. */
void record_witness(void);

#endif
