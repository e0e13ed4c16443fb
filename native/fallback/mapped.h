/* Record the files whose code a process runs, for verifying that they are the environment's. */
#ifndef TRIMTAB_MAPPED_H
#define TRIMTAB_MAPPED_H

/* Append a line for each file with an executable mapping to the file TRIMTAB_MAPPED_RECORD:
 * process, device, inode and path, separated by tabs. Does nothing without that variable. Not for
 * signal handlers. */
void note_mapped(void);

#endif
