#include "listing.h"

#include <asm/unistd_64.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "bring_back.h"

enum { MOST_OPEN = 1 << 16, ALIGNMENT = 8 };

struct listed {
  uint64_t file;
  int64_t position;
  uint16_t bytes;
  uint8_t type;
  char name[];
};

/* How many of a folder's children, plus 1, its open file has been given. Who lists it from the
 * beginning is given entries of the kernel's first, and so a new count. */
static uint32_t given[MOST_OPEN];

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

static const struct folder *folder_of(struct walk *walk, long folder) {
  int in_shadow;
  if (!walk_along(walk, folder, ".", 1) || !sees_environment()) return NULL;
  const char *below = path_below(walk->here, &in_shadow);
  return below ? folder_at(below) : NULL;
}

/* The program may have made something of that name. */
static int is_missing(long folder, long state, const struct entry *entry) {
  struct status status;
  return entry->kind != KEPT_PROGRAM && is_away(state, entry) &&
         status_of(folder, name_of(entry), AT_SYMLINK_NOFOLLOW, &status) == -ENOENT;
}

static long list_of(const struct folder *rows, long folder, uint8_t *to, size_t room) {
  size_t filled = 0;
  uint32_t next = given[folder] ? given[folder] - 1u : 0;
  long state = open_state(O_RDONLY);
  for (; next < rows->children; next++) {
    const struct entry *entry = child_of(rows, next);
    if (!is_missing(folder, state, entry)) continue;
    size_t bytes = put_entry(to + filled, room - filled, entry);
    if (!bytes) break;
    filled += bytes;
  }
  if (state >= 0) close_file(state);
  if (!filled && next < rows->children) return -EINVAL; /* no room for one */
  given[folder] = next + 1;
  return (long)filled;
}

GENERAL int asks_for_removed(long folder, long result) {
  if (folder < 0 || folder >= MOST_OPEN) return 0;
  if (result > 0 && given[folder]) given[folder] = 0;
  return result == 0;
}

long list_removed(long folder, void *to, unsigned long room) {
  struct walk *walk = new_memory(sizeof *walk);
  if (!walk) return 0;
  const struct folder *rows = folder_of(walk, folder);
  drop_memory(walk, sizeof *walk);
  return rows ? list_of(rows, folder, to, room) : 0;
}

static void bring_back_child(struct walk *walk, const struct entry *entry) {
  if (entry->kind != KEPT_PROGRAM && path_of(walk->spelled, 0, text_at(entry->path)))
    walk_along(walk, AT_FDCWD, walk->spelled, 0);
}

void keep_from_removal(const char *below) {
  const struct folder *rows = folder_at(below);
  struct walk *walk = rows ? new_memory(sizeof *walk) : NULL;
  if (!walk) return;
  walk->came_back = 0;
  for (uint32_t i = 0; i < rows->children && !walk->came_back; i++)
    bring_back_child(walk, child_of(rows, i));
  drop_memory(walk, sizeof *walk);
}

/* Entries are in the order of their paths: a folder before what is in it. */
void bring_back_below(const char *below) {
  size_t length = strlen(below);
  struct walk *walk = new_memory(sizeof *walk);
  if (!walk) return;
  for (uint32_t i = 0; i < index_header()->entries; i++) {
    const struct entry *entry = entry_number(i);
    const char *path = text_at(entry->path);
    if (begins_with(path, below) && path[length] == '/') bring_back_child(walk, entry);
  }
  drop_memory(walk, sizeof *walk);
}
