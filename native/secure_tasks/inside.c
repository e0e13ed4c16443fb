#include "inside.h"

#include <string.h>

enum { ALIGNMENT = 64, PAGE = 4096 };

static size_t rounded(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

static size_t head_bytes(const struct enclave_options *options) {
    size_t versions = options->key ? options->blocks * sizeof(uint64_t) : 0;
    return rounded(sizeof(struct inside) + versions, PAGE);
}

size_t inside_room_bytes(const struct enclave_options *options) {
    size_t head = head_bytes(options);
    if (options->memory_bytes <= head) return 0;
    return (options->memory_bytes - head) / options->threads / PAGE * PAGE;
}

int inside_place(struct inside *inside, const struct enclave_options *options) {
    memcpy(inside->functions, options->functions,
           options->function_count * sizeof *options->functions);
    inside->function_count = options->function_count;
    inside->threads = options->threads;
    inside->sealed = options->key != NULL;
    inside->blocks = inside->sealed ? options->blocks : 0;
    inside->rooms_offset = head_bytes(options);
    inside->room_bytes = inside_room_bytes(options);
    for (uint32_t block = 0; block < inside->blocks; block++) inside->versions[block] = 1;
    for (unsigned thread = 0; inside->sealed && thread < options->threads; thread++)
        if (!(inside->sealers[thread] = sealer_new(options->key))) return ENCLAVE_NO_CIPHER;
    return ENCLAVE_OK;
}

void inside_clear(struct inside *inside) {
    for (unsigned thread = 0; thread < inside->threads; thread++)
        sealer_free(inside->sealers[thread]);
    explicit_bzero((char *)inside + inside->rooms_offset, inside->room_bytes * inside->threads);
}

int arguments_refused(const struct enclave_argument *arguments, unsigned count, size_t room_bytes,
                      bool sealed, uint32_t blocks) {
    if (count > ENCLAVE_MOST_ARGUMENTS) return ENCLAVE_SIZE;
    size_t left = room_bytes;
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = arguments[i].bytes;
        /* Compared before rounding up, so that nothing wraps. */
        if (bytes == 0 || bytes > left || rounded(bytes, ALIGNMENT) > left) return ENCLAVE_SIZE;
        left -= rounded(bytes, ALIGNMENT);
        if (arguments[i].direction < ENCLAVE_IN || arguments[i].direction > ENCLAVE_INOUT)
            return ENCLAVE_POINTER;
        if (sealed && bytes <= ENCLAVE_TAG_BYTES) return ENCLAVE_SIZE;
        if (sealed && arguments[i].block >= blocks) return ENCLAVE_BLOCK;
    }
    return ENCLAVE_OK;
}

/* A ciphertext is opened in its copy, as nobody outside can change that. */
static int take_in(struct inside *inside, unsigned thread, const struct enclave_argument *argument,
                   void *copy) {
    /* If a function writes too little, the rest is zeros, not data of an earlier call. */
    if (!(argument->direction & ENCLAVE_IN)) {
        memset(copy, 0, argument->bytes);
        return ENCLAVE_OK;
    }
    memcpy(copy, argument->data, argument->bytes);
    if (!inside->sealed) return ENCLAVE_OK;
    uint64_t version = inside->versions[argument->block];
    return unseal(inside->sealers[thread], argument->block, version, copy, argument->bytes)
               ? ENCLAVE_OK
               : ENCLAVE_ALTERED;
}

/* The version increases before its use, so that two calls never seal with the same one. */
static int give_out(struct inside *inside, unsigned thread, const struct enclave_argument *argument,
                    void *copy) {
    if (inside->sealed) {
        uint64_t version = atomic_fetch_add(&inside->versions[argument->block], 1) + 1;
        if (!seal(inside->sealers[thread], argument->block, version, copy, argument->bytes))
            return ENCLAVE_SYSTEM;
    }
    memcpy(argument->data, copy, argument->bytes);
    return ENCLAVE_OK;
}

int inside_run(struct inside *inside, unsigned thread, unsigned function,
               const struct enclave_argument *arguments, unsigned count) {
    if (function >= inside->function_count || thread >= inside->threads) return ENCLAVE_FUNCTION;
    int error =
        arguments_refused(arguments, count, inside->room_bytes, inside->sealed, inside->blocks);
    if (error) return error;
    char *room = (char *)inside + inside->rooms_offset + thread * inside->room_bytes;
    void *data[ENCLAVE_MOST_ARGUMENTS] = {0};
    size_t bytes[ENCLAVE_MOST_ARGUMENTS] = {0};
    for (unsigned i = 0; i < count && !error; i++) {
        data[i] = room;
        room += rounded(arguments[i].bytes, ALIGNMENT);
        bytes[i] = arguments[i].bytes - (inside->sealed ? ENCLAVE_TAG_BYTES : 0);
        error = take_in(inside, thread, &arguments[i], data[i]);
    }
    if (!error && inside->functions[function](data, bytes, count)) error = ENCLAVE_FAILED;
    for (unsigned i = 0; i < count && !error; i++)
        if (arguments[i].direction & ENCLAVE_OUT)
            error = give_out(inside, thread, &arguments[i], data[i]);
    return error;
}
