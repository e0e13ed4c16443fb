/* The command line of all task programs. */
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
    const char *network; /* a file of weights and images; null if the application has none */
    bool marks;          /* whether to print a line when tasks begin and one when they end */
    struct enclave_costs costs;
    /* The meaning of the variant. */
    bool tasks, protected, sealed;
    bool has_network;
};

/* Ends the program with a message for a wrong command line. `has_network`: --network is required,
 * otherwise forbidden. */
struct options options_of(const char *application, bool has_network, int count, char *const *words);

/* Ends the program with the mistake in an option. */
_Noreturn void refuse_option(const struct options *options, const char *what, const char *text);

#endif
