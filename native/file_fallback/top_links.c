#define _GNU_SOURCE
#include "top_links.h"

#include <asm/unistd_64.h>
#include <fcntl.h>

enum { MOST = 8, NAME_BYTES = 16, TARGET_BYTES = 48 };
enum { FREE, TAKEN, KNOWN };

static struct {
  int state;
  char name[NAME_BYTES]; /* after a slash */
  char target[TARGET_BYTES];
} links[MOST];

static GENERAL int is_named(const char *name, const char *part, size_t length) {
  return begins_with(part, name + 1) && !name[length + 1];
}

GENERAL const char *top_link(const char *name, size_t length) {
  for (int i = 0; i < MOST && length < NAME_BYTES - 1; i++)
    if (__atomic_load_n(&links[i].state, __ATOMIC_ACQUIRE) == KNOWN && is_named(links[i].name, name, length))
      return links[i].target;
  return NULL;
}

static GENERAL int read_link(const char *path, char to[TARGET_BYTES]) {
  char read[TARGET_BYTES];
  long bytes = KERNEL(__NR_readlink, path, read, sizeof read - 1, 0);
  if (bytes <= 0 || bytes >= (long)sizeof read - 2) return 0;
  read[bytes] = 0;
  struct text text = text_in(to, TARGET_BYTES);
  put(&text, *read == '/' ? "" : "/"); /* relative links start at the top too */
  put(&text, read);
  for (const char *at = to; *at; at++) /* without `.` and `..`, or the rest would not follow it */
    if (*at == '/' && (at[1] == '/' || at[1] == '.' || !at[1])) return 0;
  return !find_without_links(AT_FDCWD, to, O_DIRECTORY);
}

GENERAL int learn_top_link(const char *name, size_t length) {
  if (top_link(name, length) || length >= NAME_BYTES - 1) return 0;
  for (int i = 0; i < MOST; i++) {
    int expected = FREE;
    if (!__atomic_compare_exchange_n(&links[i].state, &expected, TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    struct text text = text_in(links[i].name, NAME_BYTES);
    put(&text, "/");
    put_part(&text, name, length);
    int is_link = read_link(links[i].name, links[i].target);
    __atomic_store_n(&links[i].state, is_link ? KNOWN : FREE, __ATOMIC_RELEASE);
    return is_link;
  }
  return 0;
}
