#define _GNU_SOURCE
#include "system.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../fallback/container_log.h"

enum { ROOM = 16, PAGE_BYTES = 4096, MESSAGE_BYTES = 20480 };

GENERAL int is_folder(const struct status *status) { return S_ISDIR(status->mode); }
int is_regular(const struct status *status) { return S_ISREG(status->mode); }

GENERAL long status_of(long folder, const char *path, int flags, struct status *status) {
  return KERNEL(__NR_newfstatat, folder, path, status, flags);
}

long open_path(long folder, const char *path, int flags, unsigned mode) {
  struct rlimit before;
  long file = KERNEL(__NR_openat, folder, path, flags | O_CLOEXEC, mode);
  if (file != -EMFILE || KERNEL(__NR_prlimit64, 0, RLIMIT_NOFILE, NULL, &before)) return file;
  struct rlimit more = {before.rlim_cur + ROOM, before.rlim_max};
  if (more.rlim_max < more.rlim_cur) more.rlim_max = more.rlim_cur;
  if (KERNEL(__NR_prlimit64, 0, RLIMIT_NOFILE, &more, NULL)) return file;
  file = KERNEL(__NR_openat, folder, path, flags | O_CLOEXEC, mode);
  KERNEL(__NR_prlimit64, 0, RLIMIT_NOFILE, &before, NULL);
  return file;
}

void close_file(long file) { KERNEL(__NR_close, file, 0, 0, 0); }

GENERAL long find_without_links(long folder, const char *path, int flags) {
  const struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = RESOLVE_NO_SYMLINKS};
  long file = KERNEL(__NR_openat2, folder, path, &how, sizeof how);
  if (file < 0) return file;
  KERNEL(__NR_close, file, 0, 0, 0);
  return 0;
}

GENERAL void *new_memory(size_t bytes) {
  long at = kernel(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
  return at < 0 && at > -PAGE_BYTES ? NULL : (void *)at;
}

int may_grow(long file, uint64_t bytes) {
  struct rlimit limit;
  struct status status;
  return !KERNEL(__NR_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) &&
         !KERNEL(__NR_fstat, file, &status, 0, 0) &&
         (limit.rlim_cur == RLIM_INFINITY || (uint64_t)status.bytes + bytes <= limit.rlim_cur);
}

GENERAL void drop_memory(void *at, size_t bytes) { KERNEL(__NR_munmap, at, bytes, 0, 0); }

/* The kernel reads a signal mask before it checks `how`, and writes nothing. */
GENERAL int is_readable(const void *address) {
  return KERNEL(__NR_rt_sigprocmask, ~0, (uintptr_t)address & ~7ul, NULL, 8) != -EFAULT;
}

GENERAL int is_readable_too(const void *address, struct pages *pages) {
  enum { MOST = sizeof pages->known / sizeof *pages->known };
  uintptr_t page = (uintptr_t)address / PAGE_BYTES;
  for (unsigned i = 0; page && i < MOST; i++)
    if (pages->known[i] == page) return 1;
  if (!is_readable(address)) return 0;
  pages->known[pages->next++ % MOST] = page;
  return 1;
}

GENERAL long length_of(const char *text, size_t limit) {
  for (size_t at = 0; at < limit; at++) {
    if ((at == 0 || (uintptr_t)(text + at) % PAGE_BYTES == 0) && !is_readable(text + at)) return -1;
    if (!text[at]) return (long)at;
  }
  return -1;
}

/* In assembly, as the compiler would turn a loop into a call of this function. */
GENERAL void *(memcpy)(void *restrict to, const void *restrict from, size_t bytes) {
  void *at = to;
  __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
  return to;
}
GENERAL void *(memset)(void *to, int byte, size_t bytes) {
  void *at = to;
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(byte) : "memory");
  return to;
}
int memcmp(const void *a, const void *b, size_t bytes) {
  const uint8_t *one = a, *other = b;
  for (; bytes; bytes--, one++, other++)
    if (*one != *other) return *one - *other;
  return 0;
}
GENERAL size_t strlen(const char *text) {
  const char *end = text;
  for (; *end; end++) __asm__ volatile("");
  return (size_t)(end - text);
}
GENERAL int is_same(const char *a, const char *b) {
  for (; *a && *a == *b; a++, b++) continue;
  return *a == *b;
}
GENERAL int begins_with(const char *text, const char *start) {
  for (; *start && *text == *start; text++, start++) continue;
  return !*start;
}

GENERAL void cut_last(char *path) {
  char *end = path + strlen(path);
  while (end > path && *--end != '/') continue;
  *end = 0;
}

GENERAL struct text text_in(char *buffer, size_t bytes) {
  *buffer = 0;
  return (struct text){buffer, buffer, buffer + bytes, 1};
}

GENERAL void put_part(struct text *text, const char *part, size_t bytes) {
  if (bytes >= (size_t)(text->end - text->at)) {
    text->whole = 0;
    return;
  }
  memcpy(text->at, part, bytes);
  text->at += bytes;
  *text->at = 0;
}

GENERAL void put(struct text *text, const char *part) { put_part(text, part, strlen(part)); }

GENERAL void put_number(struct text *text, uint64_t number, int digits) {
  char written[24], *at = written + sizeof written;
  for (; number || digits > 0; number /= 10, digits--) *--at = (char)('0' + number % 10);
  put_part(text, at, (size_t)(written + sizeof written - at));
}

void put_hexadecimal(struct text *text, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char digits[2] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15]};
    put_part(text, digits, 2);
  }
}

void put_json(struct text *text, const char *part) {
  for (; *part; part++) {
    unsigned char byte = (unsigned char)*part;
    if (byte == '\\') put(text, "\\\\\\\\");
    else if (byte == '"') put(text, "\\\"");
    else if (byte < ' ' || byte == 127) {
      put(text, "\\u00");
      put_hexadecimal(text, &byte, 1);
    } else put_part(text, part, 1);
  }
}

static char message[MESSAGE_BYTES];

static size_t said(const char *a, const char *b, const char *c, const char *d, const char *e) {
  struct text text = text_in(message, sizeof message);
  const char *parts[] = {"trimtab: ", a, b, c, d, e, "\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) put(&text, parts[i]);
  KERNEL(__NR_write, 2, message, text.at - message, 0);
  return (size_t)(text.at - message);
}

void say(const char *a, const char *b, const char *c, const char *d, const char *e) { said(a, b, c, d, e); }

void keep_log(void) { keep_container_log(); }

void give_up(const char *a, const char *b, const char *c, const char *d, const char *e) {
  write_to_container_log(message, said(a, b, c, d, e));
  end_program();
}
