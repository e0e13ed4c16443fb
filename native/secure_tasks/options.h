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
    const char *record;  /* a file for the task graph, or null */
    const char *network; /* a file of weights and images; null where the application has none */
    bool marks;          /* whether to print a line when tasks begin and one when they end */
    struct enclave_costs costs;
    /* What the variant means. */
    bool tasks, protected, sealed;
    bool has_network;
};

/* Ends the program with a message where the command line is wrong. `has_network`: --network has to
 * be there, else it must not. */
struct options options_of(const char *application, bool has_network, int count, char *const *words);

/* Ends the program with what is wrong with an option. */
_Noreturn void refuse_option(const struct options *options, const char *what, const char *text);

#endif
