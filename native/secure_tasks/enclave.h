/* One small interface to enclaves of several kinds: create, call, destroy.
 *
 * A call names a function registered at creation, by its number, and passes it buffers, which are
 * copied into the enclave's memory and out again: a function never sees its caller's memory.
 * docs/methods/enclaves.md describes the protection of each kind. */
#ifndef TRIMTAB_ENCLAVE_H
#define TRIMTAB_ENCLAVE_H

#include <stddef.h>
#include <stdint.h>

enum {
    ENCLAVE_MOST_THREADS = 32,
    ENCLAVE_MOST_FUNCTIONS = 16,
    ENCLAVE_MOST_ARGUMENTS = 5,
    ENCLAVE_MOST_BLOCKS = 1 << 22,
    ENCLAVE_KEY_BYTES = 32,
    ENCLAVE_TAG_BYTES = 16,
};

enum enclave_error {
    ENCLAVE_OK,
    ENCLAVE_GONE,        /* no such enclave: never made, or destroyed */
    ENCLAVE_FUNCTION,    /* no function of this number */
    ENCLAVE_SIZE,        /* zero, more than the enclave has room for, or past all memory */
    ENCLAVE_POINTER,     /* a null pointer, or an unknown direction */
    ENCLAVE_OVERLAP,     /* two buffers overlap, and one of them is written */
    ENCLAVE_INSIDE,      /* a buffer is in the enclave's own memory */
    ENCLAVE_THREADS,     /* no more threads may be inside */
    ENCLAVE_BUSY,        /* destroyed while a thread is inside */
    ENCLAVE_BLOCK,       /* no block of this number */
    ENCLAVE_ALTERED,     /* ciphertext that is not the block's latest */
    ENCLAVE_DIED,        /* the enclave, or its process, has ended */
    ENCLAVE_FAILED,      /* the function itself refused */
    ENCLAVE_KIND,        /* no kind of this name in this build */
    ENCLAVE_UNSUPPORTED, /* this machine lacks what the kind needs */
    ENCLAVE_NO_CIPHER,   /* this build lacks OpenSSL, or the kind has no cipher */
    ENCLAVE_NO_SDK,      /* this build lacks Intel's SGX SDK */
    ENCLAVE_SYSTEM,      /* the kernel refused memory or a process */
    ENCLAVE_ERRORS
};

enum enclave_direction { ENCLAVE_IN = 1, ENCLAVE_OUT = 2, ENCLAVE_INOUT = 3 };

/* In a sealed enclave, `bytes` counts the ciphertext and its tag, and `block` is the number of the
 * block of data; otherwise `block` is unused. */
struct enclave_argument {
    void *data;
    size_t bytes;
    enum enclave_direction direction;
    uint32_t block;
};

/* Runs inside; `bytes` are the sizes of the plain data. Returns 0, or any other value to refuse. */
typedef int (*enclave_function)(void *const data[], const size_t bytes[], unsigned count);

/* The run time that a modelled enclave adds. */
struct enclave_costs {
    double call_s;           /* for entering and leaving */
    double byte_s;           /* for each byte copied in or out */
    double page_s;           /* for each page of 4 KiB outside the page cache */
    size_t page_cache_bytes; /* 0: unlimited */
};

struct enclave_options {
    const char *kind; /* "process", "pkeys", "modelled" or "sgx" */
    const enclave_function *functions;
    unsigned function_count;
    size_t memory_bytes; /* at most, in all; divided equally among the threads' buffers */
    unsigned threads;    /* inside at the same time */
    const unsigned char *key; /* ENCLAVE_KEY_BYTES: all buffers are AES-GCM ciphertext; or null */
    uint32_t blocks;          /* of sealed data, numbered from 0 */
    struct enclave_costs costs;
};

typedef uint64_t enclave_id;

/* All return ENCLAVE_OK or an error. Calls may come from any thread. A process enclave lives as
 * long as the thread that created it. */
int enclave_create(const struct enclave_options *options, enclave_id *enclave);
int enclave_call(enclave_id enclave, unsigned function, const struct enclave_argument *arguments,
                 unsigned count);
int enclave_destroy(enclave_id enclave);

/* The meaning of an error, and what to do. */
const char *enclave_message(int error);

/* The memory and the confinement of an enclave on this machine, e.g. "memfd_secret, seccomp,
 * Landlock"; null if there is no such enclave. */
const char *enclave_described(enclave_id enclave);

#endif
