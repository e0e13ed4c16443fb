/* Where in a program system calls on files are made: in glibc, or in code that makes its own. What
 * brings removed files back takes over those of glibc alone (../file_fallback/sites.c). */
#ifndef ORIGINS_H
#define ORIGINS_H

#include <stdint.h>
#include <sys/types.h>

enum { KNOWN_RANGES = 8 };

/* Mapped code of a process of which no call tells anything new: it is glibc's, or on record. */
struct origins {
    struct {
        uint64_t begin, end;
    } ranges[KNOWN_RANGES];
    unsigned next; /* the one that is given up for another */
};

/* All code counts as known until the process runs another program. */
void know_all_origins(struct origins *origins);

/* Record whose the instruction is, behind which a call on a file was made, if it is not glibc's. */
void note_origin(struct origins *origins, pid_t tgid, uint64_t instruction);

#endif
