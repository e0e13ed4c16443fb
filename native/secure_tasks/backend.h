/* The interface of a kind of enclave to enclave.c, which has checked the arguments before. */
#ifndef TRIMTAB_BACKEND_H
#define TRIMTAB_BACKEND_H

#include <stdbool.h>

#include "enclave.h"

struct backend {
    const char *kind;
    int (*create)(const struct enclave_options *options, void **state);
    /* `thread` is below the limit, and no simultaneous call has the same one. */
    int (*call)(void *state, unsigned thread, unsigned function,
                const struct enclave_argument *arguments, unsigned count);
    /* Whether any of the range is the enclave's memory, mapped in the caller's address space. */
    bool (*holds)(const void *state, const void *begin, size_t bytes);
    const char *(*described)(const void *state);
    void (*destroy)(void *state);
};

extern const struct backend backend_process, backend_pkeys, backend_modelled, backend_sgx;

#endif
