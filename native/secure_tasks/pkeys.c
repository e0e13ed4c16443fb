/* An enclave as a protection-key domain: a thread of the process can access its memory only during
 * a call. Functions and stacks are the caller's. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "backend.h"
#include "inside.h"
#include "secret_memory.h"

struct domain {
    struct inside *inside;
    size_t bytes;
    int key;
    bool is_secret;
};

static int pkeys_call(void *state, unsigned thread, unsigned function,
                      const struct enclave_argument *arguments, unsigned count) {
    const struct domain *domain = state;
    pkey_set(domain->key, 0);
    int error = inside_run(domain->inside, thread, function, arguments, count);
    pkey_set(domain->key, PKEY_DISABLE_ACCESS);
    return error;
}

static void pkeys_destroy(void *state) {
    struct domain *domain = state;
    if (domain->inside) {
        pkey_set(domain->key, 0);
        inside_clear(domain->inside);
        munmap(domain->inside, domain->bytes);
    }
    pkey_free(domain->key);
    free(domain);
}

static int pkeys_create(const struct enclave_options *options, void **state) {
    int key = pkey_alloc(0, 0);
    if (key < 0) return ENCLAVE_UNSUPPORTED;
    struct domain *domain = calloc(1, sizeof *domain);
    if (!domain) {
        pkey_free(key);
        return ENCLAVE_SYSTEM;
    }
    domain->key = key;
    domain->bytes = (options->memory_bytes + 4095) / 4096 * 4096;
    domain->inside = secret_memory_new(domain->bytes, &domain->is_secret);
    int error = ENCLAVE_SYSTEM;
    if (domain->inside &&
        !pkey_mprotect(domain->inside, domain->bytes, PROT_READ | PROT_WRITE, key))
        error = inside_place(domain->inside, options);
    if (error) {
        pkeys_destroy(domain);
        return error;
    }
    pkey_set(key, PKEY_DISABLE_ACCESS);
    *state = domain;
    return ENCLAVE_OK;
}

static bool pkeys_holds(const void *state, const void *begin, size_t bytes) {
    const struct domain *domain = state;
    uintptr_t from = (uintptr_t)begin, inside = (uintptr_t)domain->inside;
    return from < inside + domain->bytes && inside < from + bytes;
}

static const char *pkeys_described(const void *state) {
    return ((const struct domain *)state)->is_secret ? "memfd_secret, protection key"
                                                     : "memfd, protection key";
}

const struct backend backend_pkeys = {
    "pkeys", pkeys_create, pkeys_call, pkeys_holds, pkeys_described, pkeys_destroy,
};
