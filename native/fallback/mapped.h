/* Which files a process runs code of, for those who verify that it is those of the environment. */
#ifndef TRIMTAB_MAPPED_H
#define TRIMTAB_MAPPED_H

/* Append a line for each file that is mapped to be executed to the file that TRIMTAB_MAPPED_RECORD
 * names: process, device, inode and path, with tabs between. Nothing without that variable. Not for
 * signal handlers. */
void note_mapped(void);

#endif
