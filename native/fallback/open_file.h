/* Open files in the middle of a program. */
#ifndef TRIMTAB_OPEN_FILE_H
#define TRIMTAB_OPEN_FILE_H

/* As open(2), for a file that is closed soon. If the program has reached its limit of open files,
 * the limit is raised briefly, if possible. The lock is held. */
int open_file(const char *path, int flags);

#endif
