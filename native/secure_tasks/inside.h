/* The contents of an enclave's own memory, and the way a call runs there. */
#ifndef TRIMTAB_INSIDE_H
#define TRIMTAB_INSIDE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "enclave.h"
#include "sealing.h"

/* At the start of the enclave's memory; the blocks' versions and the threads' buffers follow. */
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

/* The room of one thread for its buffers, 0 if the memory is too small for any. */
size_t inside_room_bytes(const struct enclave_options *options);

/* Create an enclave's contents at `memory`, which holds options->memory_bytes zeros. */
int inside_place(struct inside *memory, const struct enclave_options *options);
void inside_clear(struct inside *memory);

/* Refuse arguments that no enclave with this room accepts: checked outside, for the message, and
 * inside. */
int arguments_refused(const struct enclave_argument *arguments, unsigned count, size_t room_bytes,
                      bool sealed, uint32_t blocks);

/* Copy in, open if sealed, run, seal, copy out. */
int inside_run(struct inside *inside, unsigned thread, unsigned function,
               const struct enclave_argument *arguments, unsigned count);

#endif
