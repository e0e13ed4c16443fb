/* A second witness of the files that the run opens: fanotify(7) on the mounts, where root allows.
 *
 * It sees what the kernel opens by itself and what is opened by calls that the filter does not tell
 * of, but no file that is only looked at, and no link. */
#ifndef WITNESS_H
#define WITNESS_H

#include <stdbool.h>

/* Begin, before the command does; false where there is no witness. */
bool call_witness(void);

/* Take all that it has to say. */
void hear_witness(void);

/* Add to the record, when the run is over, the files that were opened and are not in it as such. */
void record_witness(void);

#endif
