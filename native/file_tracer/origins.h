/* The code that makes system calls on files: glibc, or code with its own calls. The file fallback
 * only intercepts glibc's calls (../file_fallback/sites.c). */
#ifndef ORIGINS_H
#define ORIGINS_H

#include <stdint.h>
#include <sys/types.h>

enum { KNOWN_RANGES = 8 };

/* Mapped code of a process whose calls add nothing new: it is glibc's, or recorded. */
struct origins {
    struct {
        uint64_t begin, end;
    } ranges[KNOWN_RANGES];
    unsigned next; /* the one to replace next */
};

/* All code counts as known until the process executes another program. */
void know_all_origins(struct origins *origins);

/* Record the file of the instruction before which a call on a file was made, unless it is
 * glibc's. */
void note_origin(struct origins *origins, pid_t tgid, uint64_t instruction);

#endif
