#include "listing.h"

#include <asm/unistd_64.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "bring_back.h"

enum { MOST_OPEN = 1 << 16, ALIGNMENT = 8 };

struct listed {
  uint64_t file;
  int64_t position;
  uint16_t bytes;
  uint8_t type;
  char name[];
};

/* An open folder that is being listed, of which something was away when that began. What comes back
 * meanwhile stays among ours, so that every name is in the list once. */
struct listing {
  const struct folder *folder;
  size_t memory;
  uint32_t next;
  uint8_t away[]; /* one a child */
};
static struct listing *listings[MOST_OPEN];

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

static void end_listing(long folder) {
  if (listings[folder]) drop_memory(listings[folder], listings[folder]->memory);
  listings[folder] = NULL;
}

static void begin_listing(struct walk *walk, long folder) {
  uint32_t entries = index_header()->entries, away = 0;
  const struct folder *rows = folder_of(walk, folder);
  uint8_t *state = rows ? new_memory(entries) : NULL; /* AWAY where it cannot be read */
  size_t memory = rows ? sizeof(struct listing) + rows->children : 0;
  struct listing *listing = state ? new_memory(memory) : NULL;
  if (listing) {
    long file = open_state(O_RDONLY);
    if (file >= 0) {
      kernel(__NR_pread64, file, (long)state, entries, 0, 0, 0);
      close_file(file);
    }
    *listing = (struct listing){rows, memory, 0};
    for (uint32_t i = 0; i < rows->children; i++) {
      const struct entry *entry = child_of(rows, i);
      listing->away[i] = state[number_of(entry)] == AWAY && entry->kind != KEPT_PROGRAM;
      away += listing->away[i];
    }
    listings[folder] = listing;
    if (!away) end_listing(folder);
  }
  if (state) drop_memory(state, entries);
}

static int is_ours(const struct listing *listing, const char *name) {
  if (!may_be_removed(name)) return 0;
  for (uint32_t i = 0; i < listing->folder->children; i++)
    if (listing->away[i] && is_same(name_of(child_of(listing->folder, i)), name)) return 1;
  return 0;
}

/* Take what came back meanwhile out of the kernel's entries. */
static long without_ours(const struct listing *listing, uint8_t *entries, long bytes) {
  long kept = 0, each;
  for (long at = 0; at < bytes; at += each) {
    const struct listed *listed = (const struct listed *)(entries + at);
    each = listed->bytes;
    if (is_ours(listing, listed->name)) continue;
    if (kept != at) /* to a lower place, byte by byte */
      for (long i = 0; i < each; i++) ((volatile uint8_t *)entries)[kept + i] = entries[at + i];
    kept += each;
  }
  return kept;
}

static long ours(struct listing *listing, long folder, uint8_t *to, size_t room) {
  size_t filled = 0;
  uint32_t children = listing->folder->children;
  for (; listing->next < children; listing->next++) {
    if (!listing->away[listing->next]) continue;
    size_t bytes = put_entry(to + filled, room - filled, child_of(listing->folder, listing->next));
    if (!bytes) return filled ? (long)filled : -EINVAL; /* no room for one */
    filled += bytes;
  }
  if (!filled) end_listing(folder);
  return (long)filled;
}

static GENERAL long position_of(long folder) { return KERNEL(__NR_lseek, folder, 0, SEEK_CUR, 0); }

/* Most folders have lost nothing: that is found out with little. */
GENERAL int asks_for_removed(long folder) {
  enum { ORDINARY_BYTES = 512 };
  char name[32], path[ORDINARY_BYTES];
  int in_shadow;
  if (folder < 0 || folder >= MOST_OPEN) return 0;
  if (listings[folder]) return 1;
  if (position_of(folder)) return 0;
  struct text text = text_in(name, sizeof name);
  put(&text, "/proc/self/fd/");
  put_number(&text, (uint64_t)folder, 1);
  long length = KERNEL(__NR_readlink, name, path, sizeof path, 0);
  if (length <= 0 || length == sizeof path) return 1;
  path[length == 1 ? 0 : length] = 0;
  const char *below = path_below(path, &in_shadow);
  return below && folder_at(below);
}

long list_folder(struct walk *walk, long folder, void *to, unsigned long room) {
  if (position_of(folder) == 0) {
    end_listing(folder);
    begin_listing(walk, folder);
  }
  struct listing *listing = listings[folder];
  for (;;) {
    long result = KERNEL(__NR_getdents64, folder, to, room, 0);
    if (!listing || result < 0) return result;
    if (result == 0) return ours(listing, folder, to, room);
    if ((result = without_ours(listing, to, result))) return result;
  }
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
