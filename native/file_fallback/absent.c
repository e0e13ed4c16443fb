#include "absent.h"

#include <asm/unistd_64.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "bring_back.h"

enum { ALIGNMENT = 8 };

static const char *name_of(const struct entry *entry) {
  const char *path = text_at(entry->path), *name = path;
  for (; *path; path++)
    if (*path == '/') name = path + 1;
  return name;
}

static size_t put_entry(uint8_t *to, size_t room, const struct entry *entry) {
  static const uint8_t types[] = {DT_REG, DT_LNK, DT_DIR};
  const char *name = name_of(entry);
  size_t length = strlen(name) + 1, bytes = sizeof(struct listed) + length;
  bytes = (offsetof(struct listed, name) + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (bytes > room) return 0;
  struct listed *listed = (struct listed *)to;
  memset(listed, 0, bytes);
  *listed = (struct listed){~(uint64_t)number_of(entry), LONG_MAX, (uint16_t)bytes,
                            types[entry->kind]};
  memcpy(listed->name, name, length);
  return bytes;
}

struct absent *absent_of(const struct folder *folder) {
  uint32_t entries = index_header()->entries, away = 0;
  uint8_t *state = new_memory(entries); /* AWAY where it cannot be read */
  size_t memory = sizeof(struct absent) + folder->children;
  struct absent *absent = state ? new_memory(memory) : NULL;
  if (absent) {
    long file = open_state(O_RDONLY);
    if (file >= 0) {
      kernel(__NR_pread64, file, (long)state, entries, 0, 0, 0);
      close_file(file);
    }
    *absent = (struct absent){folder, memory, 0};
    for (uint32_t i = 0; i < folder->children; i++) {
      const struct entry *entry = child_of(folder, i);
      absent->away[i] = state[number_of(entry)] == AWAY && entry->kind != KEPT_PROGRAM;
      away += absent->away[i];
    }
  }
  if (state) drop_memory(state, entries);
  if (away) return absent;
  if (absent) drop_absent(absent);
  return NULL;
}

void drop_absent(struct absent *absent) { drop_memory(absent, absent->memory); }

int is_absent(const struct absent *absent, const char *name) {
  if (!may_be_removed(name)) return 0;
  for (uint32_t i = 0; i < absent->folder->children; i++)
    if (absent->away[i] && is_same(name_of(child_of(absent->folder, i)), name)) return 1;
  return 0;
}

long put_absent(struct absent *absent, uint8_t *to, size_t room) {
  size_t filled = 0;
  for (; absent->next < absent->folder->children; absent->next++) {
    if (!absent->away[absent->next]) continue;
    size_t bytes = put_entry(to + filled, room - filled, child_of(absent->folder, absent->next));
    if (!bytes) return filled ? (long)filled : -EINVAL; /* no room for one */
    filled += bytes;
  }
  return (long)filled;
}
