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

struct counting {
  struct absent *absent;
  uint32_t away;
};

static int count(void *data, const struct entry *entry) {
  struct counting *counting = data;
  uint8_t *away = counting->absent->away + (entry->number - counting->absent->folder->first);
  *away = *away == AWAY && entry->kind != KEPT_PROGRAM;
  counting->away += *away;
  return 1;
}

struct absent *absent_of(const struct folder *folder) {
  uint32_t children = children_of(folder);
  size_t memory = sizeof(struct absent) + children;
  struct absent *absent = take_memory(memory);
  if (!absent) return NULL;
  *absent = (struct absent){folder, memory, 0, 0, 0};
  memset(absent->away, AWAY, children);
  long file = open_state(O_RDONLY);
  if (file >= 0) { /* otherwise every entry is AWAY */
    kernel(__NR_pread64, file, (long)absent->away, children, folder->first, 0, 0);
    close_file(file);
  }
  struct counting counting = {absent, 0};
  each_child(folder, 0, count, &counting);
  if (counting.away) return absent;
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

struct putting {
  struct absent *absent;
  uint8_t *to;
  size_t room, filled;
};

static int put_next(void *data, const struct entry *entry) {
  struct putting *putting = data;
  struct absent *absent = putting->absent;
  if (absent->away[absent->next]) {
    size_t bytes = put_entry(putting->to + putting->filled, putting->room - putting->filled, entry);
    if (!bytes) return 0;
    putting->filled += bytes;
  }
  absent->next++;
  return 1;
}

long put_absent(struct absent *absent, uint8_t *to, size_t room) {
  struct putting putting = {absent, to, room, 0};
  each_child(absent->folder, absent->next, put_next, &putting);
  if (!putting.filled && !is_told(absent)) return -EINVAL; /* no room for one */
  return (long)putting.filled;
}

int is_told(const struct absent *absent) { return absent->next == children_of(absent->folder); }
