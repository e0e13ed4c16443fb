/* Files that are opened in the middle of a program. */
#ifndef TRIMTAB_OPEN_FILE_H
#define TRIMTAB_OPEN_FILE_H

/* As open(2), for a file that is closed soon, also where the program has as many files open as it
 * may, if its limit can be raised for the moment. The lock is held. */
int open_file(const char *path, int flags);

#endif
