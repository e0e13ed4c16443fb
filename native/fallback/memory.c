#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "give_up.h"

/* The kernel reads a signal mask before it looks at `how`, and writes nothing. */
int is_readable(const uint8_t *address) {
  int before = errno;
  errno = 0;
  syscall(SYS_rt_sigprocmask, ~0, (uintptr_t)address & ~7ul, NULL, 8);
  int readable = errno != EFAULT;
  errno = before;
  return readable;
}

__attribute__((noreturn)) static void refused(void) {
  give_up("removed code cannot be put back, as the system refuses the memory: %m (a process may "
          "have as many mappings as /proc/sys/vm/max_map_count says)");
}

uint8_t *new_pages(size_t bytes) {
  uint8_t *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) refused();
  return pages;
}

void move_pages(uint8_t *place, uint8_t *pages, size_t bytes, int executable) {
  if (mprotect(pages, bytes, PROT_READ | (executable ? PROT_EXEC : 0)) ||
      mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
    refused();
}

void drop_pages(uint8_t *pages, size_t bytes) { munmap(pages, bytes); }
