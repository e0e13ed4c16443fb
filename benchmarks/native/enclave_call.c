/* enclave_call KIND CALLS: nanoseconds of a call that does nothing, with 64 bytes in and out.
 *
 * Prints the mean of each of ten rounds; ends with 77 where this machine has no enclaves of the
 * kind. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "enclave.h"

enum { ROUNDS = 10, SKIPPED = 77 };

static int nothing(void *const data[], const size_t bytes[], unsigned count) {
    (void)data, (void)bytes, (void)count;
    return 0;
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const enclave_function functions[] = {nothing};
    struct enclave_options options = {.kind = words[1],
                                      .functions = functions,
                                      .function_count = 1,
                                      .memory_bytes = 1 << 16,
                                      .threads = 1};
    enclave_id enclave;
    int error = enclave_create(&options, &enclave);
    if (error) {
        puts(enclave_message(error));
        return error == ENCLAVE_UNSUPPORTED ? SKIPPED : 1;
    }
    char data[64] = {0};
    const struct enclave_argument argument = {data, sizeof data, ENCLAVE_INOUT, 0};
    long calls = atol(words[2]);
    for (int round = 0; round < ROUNDS; round++) {
        double begun_ns = now_ns();
        for (long call = 0; call < calls; call++)
            if (enclave_call(enclave, 0, &argument, 1)) return 1;
        printf("%.1f\n", (now_ns() - begun_ns) / (double)calls);
    }
    return enclave_destroy(enclave);
}
