/* The Stream benchmark: c = a, b = 3 c, c = a + b, a = b + 3 c, again and again, block by block.
 *
 * Its two programs differ only in `submit_all`: with barriers each of the four steps covers the
 * whole vectors before the next begins; with dependences alone, tasks run when they are ready. */
#ifndef TRIMTAB_STREAM_H
#define TRIMTAB_STREAM_H

#include "run.h"

enum { STREAM_REPEATS = 10 };

struct stream {
    struct blocks a, b, c;
    uint32_t parts;
};

extern struct stream stream;

/* Prepare, run, check against plain loops; returns the exit status. */
int stream_main(const char *application, void (*submit_all)(void), int count, char **words);

#endif
