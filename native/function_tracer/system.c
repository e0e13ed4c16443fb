#include "system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

/* The compiler emits calls of these even in freestanding code. */
void *memcpy(void *to, const void *from, size_t length) {
  void *result = to;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
  return result;
}

void *memset(void *to, int value, size_t length) {
  void *result = to;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(length) : "a"(value) : "memory");
  return result;
}

int memcmp(const void *a, const void *b, size_t length) {
  const unsigned char *left = a, *right = b;
  for (; length >= 8; length -= 8, left += 8, right += 8) {
    uint64_t x, y;
    __builtin_memcpy(&x, left, 8);
    __builtin_memcpy(&y, right, 8);
    if (x != y) break;
  }
  for (; length; length--, left++, right++)
    if (*left != *right) return *left < *right ? -1 : 1;
  return 0;
}

void *memory_map(size_t length, int protection, int flags, int file) {
  return (void *)SYSTEM_CALL(SYS_mmap, 0, length, protection, flags, file, 0);
}

int text_equal(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

const char *base_name(const char *path) {
  const char *name = path;
  for (; *path; path++)
    if (*path == '/') name = path + 1;
  return name;
}

char *append_text(char *end, const char *limit, const char *text) {
  while (*text && end < limit - 1) *end++ = *text++;
  *end = 0;
  return end;
}

char *append_number(char *end, const char *limit, uint64_t number) {
  char digits[21], *first = digits + sizeof digits - 1;
  *first = 0;
  do *--first = '0' + number % 10;
  while (number /= 10);
  return append_text(end, limit, first);
}

uint64_t now_ns(void) {
  struct timespec time;
  SYSTEM_CALL(SYS_clock_gettime, CLOCK_MONOTONIC, &time, 0, 0, 0, 0);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int initial_environment(const char *name, char *value, size_t value_bytes) {
  enum { BUFFER = 1 << 22 }; /* more than the kernel's limit for one string */
  char *buffer = memory_map(BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (failed(buffer)) return 0;
  long file = SYSTEM_CALL(SYS_open, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
  long length = 0, got = 0;
  if (file >= 0) {
    while (length < BUFFER - 1 &&
           (got = SYSTEM_CALL(SYS_read, file, buffer + length, BUFFER - 1 - length, 0, 0, 0)) > 0)
      length += got;
    SYSTEM_CALL(SYS_close, file, 0, 0, 0, 0, 0);
  }
  int found = 0;
  for (char *entry = buffer; entry < buffer + length && !found;) {
    char *at = entry;
    const char *wanted = name;
    while (*wanted && *at == *wanted) at++, wanted++;
    if (!*wanted && *at == '=') {
      append_text(value, value + value_bytes, at + 1);
      found = 1;
    }
    while (*entry) entry++;
    entry++;
  }
  SYSTEM_CALL(SYS_munmap, buffer, BUFFER, 0, 0, 0, 0);
  return found;
}
