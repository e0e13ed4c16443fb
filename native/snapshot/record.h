/* Recording what a start asks of the world. */
#ifndef TRIMTAB_SNAPSHOT_RECORD_H
#define TRIMTAB_SNAPSHOT_RECORD_H

/* Append to the log at `path`, from now on, each system call that is no matter of memory alone, until the
 * process ends. Returns NULL, or why that cannot be. Entries end with a zero byte. */
const char *record_calls(const char *path);

/* Whether this process has files besides its standard streams, and blocks the signals that it did at first. */
int has_open_files(void);
int has_mask_of_start(void);

/* Append a line of the program's own. */
void note(const char *text);

/* In a process that goes on: it has no log. */
void end_record(void);

/* Whether this thread may use the same processors as when recording began. */
int has_first_processors(void);

#endif
