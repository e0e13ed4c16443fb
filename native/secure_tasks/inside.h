/* What an enclave holds in its own memory, and how a call runs there. */
#ifndef TRIMTAB_INSIDE_H
#define TRIMTAB_INSIDE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "enclave.h"
#include "sealing.h"

/* At the beginning of the enclave's memory; the blocks' versions and the threads' rooms follow. */
struct inside {
    enclave_function functions[ENCLAVE_MOST_FUNCTIONS];
    unsigned function_count, threads;
    bool sealed;
    uint32_t blocks;
    size_t rooms_offset, room_bytes;
    struct sealer *sealers[ENCLAVE_MOST_THREADS];
    /* How often each block was sealed: an older ciphertext does not open with it. */
    _Atomic uint64_t versions[];
};

/* The room that one thread has for its buffers, 0 where the memory is too small for any. */
size_t inside_room_bytes(const struct enclave_options *options);

/* Make an enclave's contents at `memory`, of options->memory_bytes zeros. */
int inside_place(struct inside *memory, const struct enclave_options *options);
void inside_clear(struct inside *memory);

/* Refuse what no enclave with such rooms takes: checked outside, for its message, and inside. */
int arguments_refused(const struct enclave_argument *arguments, unsigned count, size_t room_bytes,
                      bool sealed, uint32_t blocks);

/* Copy in, open where sealed, run, seal, copy out. */
int inside_run(struct inside *inside, unsigned thread, unsigned function,
               const struct enclave_argument *arguments, unsigned count);

#endif
