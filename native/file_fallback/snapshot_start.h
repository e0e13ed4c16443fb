/* Going on from a snapshot of a program's start (native/snapshot), in place of this process. */
#ifndef TRIMTAB_SNAPSHOT_START_H
#define TRIMTAB_SNAPSHOT_START_H

/* Go on from a snapshot if one is of this very start; returns if none is. */
void go_on_from_snapshot(void);

/* Run what records or saves this start, if the process was started for that; returns whether it was. */
int is_start_recorded(void);
void record_start(void);

#endif
