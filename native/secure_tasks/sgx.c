/* An Intel SGX enclave, with Intel's SDK. UNTESTED on hardware: it only ran in the SDK's
 * simulation. Without the SDK it is refused.
 *
 * sgx/ has the code that runs inside. The enclave is a signed file beside the program. */
#define _GNU_SOURCE
#include "backend.h"

#ifdef TRIMTAB_SGX
#include <limits.h>
#include <sgx_urts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enclave_u.h"
#include "kernels.h"

static const char file_name[] = "trimtab-enclave.signed.so";

struct hardware {
    sgx_enclave_id_t id;
};

static int error_of(sgx_status_t status) {
    switch (status) {
        case SGX_SUCCESS: return ENCLAVE_OK;
        case SGX_ERROR_ENCLAVE_LOST:
        case SGX_ERROR_ENCLAVE_CRASHED: return ENCLAVE_DIED;
        case SGX_ERROR_OUT_OF_TCS: return ENCLAVE_THREADS;
        case SGX_ERROR_NO_DEVICE:
        case SGX_ERROR_SERVICE_UNAVAILABLE:
        case SGX_ERROR_FEATURE_NOT_SUPPORTED: return ENCLAVE_UNSUPPORTED;
        default: return ENCLAVE_SYSTEM;
    }
}

static bool find_file(char path[PATH_MAX]) {
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length < 0) return false;
    path[length] = 0;
    char *name = strrchr(path, '/') + 1;
    if ((size_t)(path + PATH_MAX - name) < sizeof file_name) return false;
    strcpy(name, file_name);
    return true;
}

static int sgx_call(void *state, unsigned thread, unsigned function,
                    const struct enclave_argument *arguments, unsigned count) {
    const struct hardware *hardware = state;
    int error = ENCLAVE_OK;
    sgx_status_t status = ecall_run(hardware->id, &error, thread, function, arguments, count);
    return status == SGX_SUCCESS ? error : error_of(status);
}

static void sgx_destroy(void *state) {
    struct hardware *hardware = state;
    sgx_destroy_enclave(hardware->id);
    free(hardware);
}

static int sgx_create(const struct enclave_options *options, void **state) {
    char path[PATH_MAX];
    /* Only these functions are linked into the enclave, and no cipher. */
    if (options->functions != kernels || options->function_count != KERNELS)
        return ENCLAVE_FUNCTION;
    if (options->key) return ENCLAVE_NO_CIPHER;
    struct hardware *hardware = calloc(1, sizeof *hardware);
    if (!hardware || !find_file(path)) {
        free(hardware);
        return ENCLAVE_SYSTEM;
    }
    int error = ENCLAVE_OK;
    sgx_status_t status =
        sgx_create_enclave(path, SGX_DEBUG_FLAG, NULL, NULL, &hardware->id, NULL);
    if (status != SGX_SUCCESS) {
        fprintf(stderr, "%s: sgx_create_enclave: status 0x%x of sgx_error.h\n", path, status);
        free(hardware);
        return error_of(status);
    }
    status = ecall_place(hardware->id, &error, options->memory_bytes, options->threads);
    if (status != SGX_SUCCESS) error = error_of(status);
    if (error)
        sgx_destroy(hardware);
    else
        *state = hardware;
    return error;
}

/* Only the enclave knows its memory: it refuses such buffers itself. */
static bool sgx_holds(const void *state, const void *begin, size_t bytes) {
    (void)state, (void)begin, (void)bytes;
    return false;
}

static const char *sgx_described(const void *state) {
    (void)state;
    return TRIMTAB_SGX;
}

const struct backend backend_sgx = {
    "sgx", sgx_create, sgx_call, sgx_holds, sgx_described, sgx_destroy,
};
#else
static int sgx_create(const struct enclave_options *options, void **state) {
    (void)options, (void)state;
    return ENCLAVE_NO_SDK;
}

const struct backend backend_sgx = {.kind = "sgx", .create = sgx_create};
#endif
