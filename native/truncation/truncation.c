// Read zeros past the end of a mapped file that becomes shorter, where SIGBUS would end the
// process. Readers check the file's size when they are done (binaries/elf/reader.py).
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static struct sigaction before;
static uintptr_t page_bytes;

static void put_zeros_there(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  if (info->si_code == BUS_ADRERR) {
    void *page = (void *)((uintptr_t)info->si_addr & ~(page_bytes - 1));
    // Not writable: written data would be lost.
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(page, page_bytes, PROT_READ, flags, -1, 0) != MAP_FAILED) return;
  }
  sigaction(SIGBUS, &before, NULL);  // the access is retried, and ends as without us
}

// Returns 0 on success.
__attribute__((visibility("default"))) int trimtab_survive_truncation(void) {
  struct sigaction action = {.sa_sigaction = put_zeros_there, .sa_flags = SA_SIGINFO | SA_NODEFER};
  page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  return sigaction(SIGBUS, &action, &before);
}
