/* Loads another library before the program's first thread. */
#ifndef TRIMTAB_FIRST_THREAD_H
#define TRIMTAB_FIRST_THREAD_H

/* Returns 0, with nothing changed, if the C library's function cannot be changed. */
int load_before_threads(const char *library);

/* Load a library now, if it is there. */
void load_library(const char *path);

#endif
