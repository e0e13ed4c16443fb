#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "give_up.h"
#include "open_file.h"

/* The kernel reads a signal mask before it checks `how`, and writes nothing. */
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

enum { RESERVE_BYTES = 8 << 20 }; /* more than any known library's sidecar */
static void *reserve;

void keep_reserve(void) {
  if (reserve) return;
  reserve = mmap(NULL, RESERVE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserve == MAP_FAILED) reserve = NULL;
}

void *map_memory(size_t bytes, int protection, int flags, int file) {
  void *at = mmap(NULL, bytes, protection, flags | MAP_PRIVATE, file, 0);
  if (at != MAP_FAILED || errno != ENOMEM || !reserve) return at;
  munmap(reserve, RESERVE_BYTES);
  reserve = NULL;
  return mmap(NULL, bytes, protection, flags | MAP_PRIVATE, file, 0);
}

uint8_t *new_pages(size_t bytes) {
  uint8_t *pages = map_memory(bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);
  if (pages == MAP_FAILED) refused();
  return pages;
}

void move_pages(uint8_t *place, uint8_t *pages, size_t bytes, int executable) {
  if (mprotect(pages, bytes, PROT_READ | (executable ? PROT_EXEC : 0)) ||
      mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
    refused();
}

void drop_pages(uint8_t *pages, size_t bytes) { munmap(pages, bytes); }

/* The number of lines of a file, and its first number; 0 if it is unreadable. */
static unsigned long lines_of(const char *path, unsigned long *number) {
  static char text[1 << 16];
  unsigned long lines = 0;
  *number = 0;
  int file = open_file(path, O_RDONLY);
  if (file < 0) return 0;
  for (ssize_t got; (got = read(file, text, sizeof text - 1)) > 0;) {
    text[got] = 0;
    if (!lines) *number = strtoul(text, NULL, 10);
    for (ssize_t i = 0; i < got; i++) lines += text[i] == '\n';
  }
  close(file);
  return lines;
}

/* Counted rarely, as the kernel takes milliseconds to list thousands. */
int has_many_mappings(void) {
  enum { UNTIL_NEXT = 512 };
  static unsigned long limit, count;
  static unsigned asked;
  unsigned long number;
  if (!limit && (lines_of("/proc/sys/vm/max_map_count", &limit), !limit)) limit = 65530;
  if (asked++ % UNTIL_NEXT == 0) count = lines_of("/proc/self/maps", &number);
  else count += 2;
  return count > limit / 2;
}
