#include "absent.h"

#include <asm/unistd_64.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "bring_back.h"

enum { ALIGNMENT = 8, PAGE_BYTES = 4096 };

static size_t put_entry(uint8_t *to, size_t room, const struct entry *entry) {
  static const uint8_t types[] = {DT_REG, DT_LNK, DT_DIR};
  const char *name = entry->name;
  size_t length = strlen(name) + 1, bytes = sizeof(struct listed) + length;
  bytes = (offsetof(struct listed, name) + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (bytes > room) return 0;
  struct listed *listed = (struct listed *)to;
  memset(listed, 0, bytes);
  *listed = (struct listed){~(uint64_t)entry->number, LONG_MAX, (uint16_t)bytes,
                            types[entry->kind]};
  memcpy(listed->name, name, length);
  return bytes;
}

/* The memory of the previous listing, unless another thread has it: most need a page. */
static struct absent *spare;

static struct absent *take_memory(size_t bytes) {
  struct absent *absent = bytes <= PAGE_BYTES ? __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL) : NULL;
  return absent ? absent : new_memory(bytes);
}

struct absent *absent_of(const struct folder *folder) {
  uint32_t children = children_of(folder), away = 0;
  size_t memory = sizeof(struct absent) + children;
  struct absent *absent = take_memory(memory);
  struct entry entry;
  if (!absent) return NULL;
  *absent = (struct absent){folder, memory, 0, 0, 0};
  memset(absent->away, AWAY, children);
  long file = open_state(O_RDONLY);
  if (file >= 0) { /* otherwise every entry is AWAY */
    kernel(__NR_pread64, file, (long)absent->away, children, folder->first, 0, 0);
    close_file(file);
  }
  for (uint32_t i = 0; i < children; i++) {
    entry_number(folder->first + i, &entry);
    absent->away[i] = absent->away[i] == AWAY && entry.kind != KEPT_PROGRAM;
    away += absent->away[i];
  }
  if (away) return absent;
  drop_absent(absent);
  return NULL;
}

void drop_absent(struct absent *absent) {
  if (absent->memory <= PAGE_BYTES) absent = __atomic_exchange_n(&spare, absent, __ATOMIC_ACQ_REL);
  if (absent) drop_memory(absent, absent->memory);
}

int is_absent(const struct absent *absent, const char *name) {
  struct entry entry;
  return may_be_removed(name) && child_of(absent->folder, name, &entry) &&
         absent->away[entry.number - absent->folder->first];
}

long put_absent(struct absent *absent, uint8_t *to, size_t room) {
  size_t filled = 0;
  uint32_t children = children_of(absent->folder);
  struct entry entry;
  for (; absent->next < children; absent->next++) {
    if (!absent->away[absent->next]) continue;
    entry_number(absent->folder->first + absent->next, &entry);
    size_t bytes = put_entry(to + filled, room - filled, &entry);
    if (!bytes) return filled ? (long)filled : -EINVAL; /* no room for one */
    filled += bytes;
  }
  return (long)filled;
}

int is_told(const struct absent *absent) { return absent->next == children_of(absent->folder); }
