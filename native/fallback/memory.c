#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "give_up.h"

/* The kernel reads a signal mask before it looks at `how`, and writes nothing. */
int is_readable(const uint8_t *page) {
  errno = 0;
  syscall(SYS_rt_sigprocmask, ~0, page, NULL, 8);
  return errno != EFAULT;
}

/* A page that left the file: not accessible, or zeros where data left beside it. */
static int is_missing(const uint8_t *page) {
  static const uint8_t zeros[PAGE_BYTES];
  return !is_readable(page) || !memcmp(page, zeros, PAGE_BYTES);
}

int is_back(const uint8_t *code, const uint8_t *original, size_t size) {
  const uint8_t *end = code + size, *page = code - (uintptr_t)code % PAGE_BYTES;
  for (; page < end; page += PAGE_BYTES)
    if (!is_readable(page)) return 0;
  return !memcmp(code, original, size);
}

__attribute__((noreturn)) static void refused(void) {
  give_up("removed code cannot be put back, as the system refuses the memory: %m");
}

void write_code(volatile uint8_t *code, const uint8_t *original, size_t size) {
  uint8_t *first = (uint8_t *)code - (uintptr_t)code % PAGE_BYTES, *end = (uint8_t *)code + size;
  for (uint8_t *page = first; page < end; page += PAGE_BYTES) {
    int missing = is_missing(page);
    /* A page that stays is executed by other threads meanwhile; a missing one must not be yet. */
    if (missing ? mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED
                : mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC))
      refused();
    if (missing) memset(page, TRAP, PAGE_BYTES);
  }
  /* From the last byte down: a thread that enters meanwhile, wherever, meets either a trap or an
   * instruction whose later bytes are back already. */
  for (size_t i = size; i-- > 0;) code[i] = original[i];
  for (uint8_t *page = first; page < end; page += PAGE_BYTES)
    if (mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC)) refused();
}
