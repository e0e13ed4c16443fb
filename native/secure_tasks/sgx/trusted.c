/* The inside of an Intel SGX enclave. UNTESTED on hardware: it only ran in the SDK's simulation.
 *
 * Functions are those of kernels.c, linked into the enclave and so included in its measurement. The
 * caller's pointers and its choice of a thread are not trusted. */
#include <sgx_lfence.h>
#include <sgx_trts.h>
#include <stdlib.h>
#include <string.h>

#include "enclave_t.h"
#include "inside.h"
#include "kernels.h"

enum { PAGE = 4096 };

static struct inside *_Atomic contents;
static atomic_flag is_placed = ATOMIC_FLAG_INIT;
static atomic_flag in_use[ENCLAVE_MOST_THREADS];

int ecall_place(size_t memory_bytes, unsigned int threads) {
    struct enclave_options options = {.functions = kernels,
                                      .function_count = KERNELS,
                                      .memory_bytes = memory_bytes,
                                      .threads = threads};
    if (!threads || threads > ENCLAVE_MOST_THREADS) return ENCLAVE_THREADS;
    if (memory_bytes > SIZE_MAX / 4 || !inside_room_bytes(&options)) return ENCLAVE_SIZE;
    if (atomic_flag_test_and_set(&is_placed)) return ENCLAVE_BUSY;
    struct inside *memory = memalign(PAGE, memory_bytes);
    if (!memory) return ENCLAVE_SIZE;
    memset(memory, 0, memory_bytes);
    int error = inside_place(memory, &options);
    if (!error) contents = memory;
    return error;
}

/* `arguments` is the bridge's copy; inside_run copies what they point to, once. */
int ecall_run(unsigned int thread, unsigned int function, const struct enclave_argument *arguments,
              unsigned int count) {
    struct inside *inside = contents;
    if (!inside) return ENCLAVE_GONE;
    if (thread >= inside->threads) return ENCLAVE_THREADS;
    if (count && !arguments) return ENCLAVE_POINTER;
    int error =
        arguments_refused(arguments, count, inside->room_bytes, inside->sealed, inside->blocks);
    if (error) return error;
    for (unsigned i = 0; i < count; i++) {
        if (!arguments[i].data) return ENCLAVE_POINTER;
        if (!sgx_is_outside_enclave(arguments[i].data, arguments[i].bytes)) return ENCLAVE_INSIDE;
    }
    sgx_lfence(); /* nothing is copied, even speculatively, before the checks are done */
    if (atomic_flag_test_and_set(&in_use[thread])) return ENCLAVE_THREADS;
    error = inside_run(inside, thread, function, arguments, count);
    atomic_flag_clear(&in_use[thread]);
    return error;
}
