#define _GNU_SOURCE
#include "secret_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static void *mapped(int file, size_t bytes) {
    if (file < 0) return NULL;
    void *memory = MAP_FAILED;
    if (!ftruncate(file, (off_t)bytes))
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Secret memory is locked: RLIMIT_MEMLOCK limits it unless the process may lock any amount. */
void *secret_memory_new(size_t bytes, bool *is_secret) {
    void *memory = mapped((int)syscall(SYS_memfd_secret, O_CLOEXEC), bytes);
    *is_secret = memory != NULL;
    if (memory) return memory;
    memory = mapped(memfd_create("enclave", MFD_CLOEXEC), bytes);
    if (memory) madvise(memory, bytes, MADV_DONTDUMP);
    return memory;
}
