/* A second witness of the files that the run opens: fanotify(7) on the mounts, where root allows.
 *
 * It sees what the kernel opens by itself and what is opened by calls that the filter does not tell
 * of, but no file that is only looked at, and no link. */
#ifndef WITNESS_H
#define WITNESS_H

/* Begin, before the command does; what to poll, or -1 where there is no witness. */
int call_witness(void);

/* Take some of what it has to say, if there is anything. */
void hear_witness(void);

/* Add to the record, when the run is over, the files that were opened and are not in it as such. */
void record_witness(void);

#endif
