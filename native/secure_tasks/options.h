/* The command line that all task programs have. */
#ifndef TRIMTAB_OPTIONS_H
#define TRIMTAB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "enclave.h"

enum { WRONG_RESULT = 1, WRONG_USE = 2, FAILED = 3 };

struct options {
    const char *application, *variant, *enclave;
    size_t size, block; /* of a side or a vector, in numbers; size is a multiple of block */
    unsigned workers;
    const char *record; /* a file for the task graph, or null */
    bool marks;         /* whether to print a line when tasks begin and one when they end */
    struct enclave_costs costs;
    /* What the variant means. */
    bool tasks, protected, sealed;
};

/* Ends the program with a message where the command line is wrong. */
struct options options_of(const char *application, int count, char *const *words);

#endif
