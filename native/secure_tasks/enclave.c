#include "enclave.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backend.h"
#include "inside.h"

enum { PLACES = 16, THREAD_BITS = 32 };

/* An id is a generation and a place: a destroyed enclave's id is never reused. */
struct place {
    /* The generation in the upper bits, odd while there is an enclave, and one bit for each thread
     * inside. */
    _Atomic uint64_t word;
    const struct backend *backend;
    void *state;
    unsigned function_count, threads;
    size_t room_bytes;
    bool sealed;
    uint32_t blocks;
};

static struct place places[PLACES];
static pthread_mutex_t creation = PTHREAD_MUTEX_INITIALIZER;

static const struct backend *const backends[] = {
    &backend_process, &backend_pkeys, &backend_modelled, &backend_sgx,
};

static const char *const messages[ENCLAVE_ERRORS] = {
    [ENCLAVE_OK] = "done",
    [ENCLAVE_GONE] = "there is no such enclave: it was never created, or has been destroyed",
    [ENCLAVE_FUNCTION] = "no function of this number was registered when the enclave was created",
    [ENCLAVE_SIZE] = "a buffer has 0 bytes, or the buffers of the call do not fit the enclave's "
                     "memory; give it more memory, or smaller blocks",
    [ENCLAVE_POINTER] = "a buffer is a null pointer, or is neither input nor output",
    [ENCLAVE_OVERLAP] = "a buffer that is written shares memory with another one",
    [ENCLAVE_INSIDE] = "a buffer lies in the enclave's own memory",
    [ENCLAVE_THREADS] = "as many threads are in the enclave as it was created for; create it for "
                        "more, or call it from fewer",
    [ENCLAVE_BUSY] = "a thread is still in the enclave",
    [ENCLAVE_BLOCK] = "the enclave was created for fewer sealed blocks",
    [ENCLAVE_ALTERED] = "a ciphertext was altered, belongs to another block, or is not its latest",
    [ENCLAVE_DIED] = "the enclave has ended, or its process; destroy it and create another",
    [ENCLAVE_FAILED] = "the function refused its buffers",
    [ENCLAVE_KIND] = "no kind of enclave has this name: there are process, pkeys, "
                     "modelled and sgx",
    [ENCLAVE_UNSUPPORTED] = "this machine lacks what this kind of enclave needs: protection keys "
                            "(pku in /proc/cpuinfo) for pkeys, seccomp for process, SGX and its "
                            "driver for sgx",
    [ENCLAVE_NO_CIPHER] = "built without OpenSSL: make deps-openssl; enclaves of the kind sgx "
                          "have no cipher",
    [ENCLAVE_NO_SDK] = "built without Intel's SGX SDK, which has include/sgx_urts.h: install it, set "
                       "SGX_SDK to its folder and run make native; this kind is untested on hardware",
    [ENCLAVE_SYSTEM] = "the kernel refused memory or a process",
};

const char *enclave_message(int error) {
    return error >= 0 && error < ENCLAVE_ERRORS ? messages[error] : "unknown error";
}

static int options_refused(const struct enclave_options *options) {
    if (!options->functions || !options->function_count ||
        options->function_count > ENCLAVE_MOST_FUNCTIONS)
        return ENCLAVE_FUNCTION;
    if (!options->threads || options->threads > ENCLAVE_MOST_THREADS) return ENCLAVE_THREADS;
    if (options->key && (!options->blocks || options->blocks > ENCLAVE_MOST_BLOCKS))
        return ENCLAVE_BLOCK;
    /* So that sums of sizes cannot wrap. */
    if (options->memory_bytes > SIZE_MAX / 4 || !inside_room_bytes(options)) return ENCLAVE_SIZE;
    return ENCLAVE_OK;
}

static int create(struct place *place, const struct enclave_options *options) {
    place->backend = NULL;
    for (size_t i = 0; options->kind && i < sizeof backends / sizeof *backends; i++)
        if (!strcmp(backends[i]->kind, options->kind)) place->backend = backends[i];
    if (!place->backend) return ENCLAVE_KIND;
    place->function_count = options->function_count;
    place->threads = options->threads;
    place->room_bytes = inside_room_bytes(options);
    place->sealed = options->key != NULL;
    place->blocks = options->blocks;
    return place->backend->create(options, &place->state);
}

int enclave_create(const struct enclave_options *options, enclave_id *enclave) {
    int error = options_refused(options);
    if (error) return error;
    error = ENCLAVE_SYSTEM;
    pthread_mutex_lock(&creation);
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t generation = places[i].word >> THREAD_BITS;
        if (generation % 2) continue;
        error = create(&places[i], options);
        if (!error) {
            places[i].word = (generation + 1) << THREAD_BITS;
            *enclave = (generation + 1) * PLACES + i;
        }
        break;
    }
    pthread_mutex_unlock(&creation);
    return error;
}

static struct place *place_of(enclave_id enclave, uint64_t *generation) {
    *generation = enclave / PLACES;
    struct place *place = &places[enclave % PLACES];
    return *generation % 2 && place->word >> THREAD_BITS == *generation ? place : NULL;
}

/* Take a thread's place in the enclave. */
static int enter(struct place *place, uint64_t generation, unsigned *thread) {
    uint64_t word = place->word;
    do {
        if (word >> THREAD_BITS != generation) return ENCLAVE_GONE;
        *thread = __builtin_ctzll(~word);
        if (*thread >= place->threads) return ENCLAVE_THREADS;
    } while (!atomic_compare_exchange_weak(&place->word, &word, word | 1ull << *thread));
    return ENCLAVE_OK;
}

static bool overlap(const struct enclave_argument *one, const struct enclave_argument *other) {
    uintptr_t first = (uintptr_t)one->data, second = (uintptr_t)other->data;
    return first < second + other->bytes && second < first + one->bytes;
}

static int pointers_refused(const struct place *place, const struct enclave_argument *arguments,
                            unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const struct enclave_argument *argument = &arguments[i];
        if (!argument->data) return ENCLAVE_POINTER;
        if ((uintptr_t)argument->data > UINTPTR_MAX - argument->bytes) return ENCLAVE_SIZE;
        if (place->backend->holds(place->state, argument->data, argument->bytes))
            return ENCLAVE_INSIDE;
        for (unsigned j = 0; j < i; j++)
            if ((argument->direction | arguments[j].direction) & ENCLAVE_OUT &&
                overlap(argument, &arguments[j]))
                return ENCLAVE_OVERLAP;
    }
    return ENCLAVE_OK;
}

static int checked_call(const struct place *place, unsigned thread, unsigned function,
                        const struct enclave_argument *arguments, unsigned count) {
    if (function >= place->function_count) return ENCLAVE_FUNCTION;
    if (count > ENCLAVE_MOST_ARGUMENTS) return ENCLAVE_SIZE;
    if (count && !arguments) return ENCLAVE_POINTER;
    /* A copy, which nobody can change between check and use. */
    struct enclave_argument copy[ENCLAVE_MOST_ARGUMENTS] = {0};
    for (unsigned i = 0; i < count; i++) copy[i] = arguments[i];
    int error = arguments_refused(copy, count, place->room_bytes, place->sealed, place->blocks);
    if (!error) error = pointers_refused(place, copy, count);
    return error ? error : place->backend->call(place->state, thread, function, copy, count);
}

int enclave_call(enclave_id enclave, unsigned function, const struct enclave_argument *arguments,
                 unsigned count) {
    uint64_t generation;
    struct place *place = place_of(enclave, &generation);
    if (!place) return ENCLAVE_GONE;
    unsigned thread = 0;
    int error = enter(place, generation, &thread);
    if (error) return error;
    error = checked_call(place, thread, function, arguments, count);
    atomic_fetch_and(&place->word, ~(1ull << thread));
    return error;
}

int enclave_destroy(enclave_id enclave) {
    uint64_t generation;
    struct place *place = place_of(enclave, &generation);
    if (!place) return ENCLAVE_GONE;
    int error = ENCLAVE_OK;
    pthread_mutex_lock(&creation);
    uint64_t nobody = generation << THREAD_BITS;
    if (atomic_compare_exchange_strong(&place->word, &nobody, (generation + 1) << THREAD_BITS))
        place->backend->destroy(place->state);
    else
        error = nobody >> THREAD_BITS == generation ? ENCLAVE_BUSY : ENCLAVE_GONE;
    pthread_mutex_unlock(&creation);
    return error;
}

const char *enclave_described(enclave_id enclave) {
    uint64_t generation;
    const struct place *place = place_of(enclave, &generation);
    return place ? place->backend->described(place->state) : NULL;
}
