#include "listing.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <unistd.h>

#include "absent.h"

enum { MOST_OPEN = 1 << 16 };

/* Of an open folder that is being listed, of which something was away when that began. What comes back
 * meanwhile stays among ours, so that every name is in the list once. */
static struct absent *listings[MOST_OPEN];
static struct absent told; /* of one whose list is whole: unless it begins anew, the kernel goes on */

static const struct folder *folder_of(struct walk *walk, long folder) {
  int in_shadow;
  if (!path_of_folder(folder, walk->here) || !sees_environment()) return NULL;
  const char *below = path_below(walk->here, &in_shadow);
  return below ? folder_at(below) : NULL;
}

static GENERAL int is_active(long folder) { return listings[folder] && listings[folder] != &told; }

static void end_listing(long folder) {
  if (is_active(folder)) drop_absent(listings[folder]);
  listings[folder] = &told;
}

static void begin_listing(struct walk *walk, long folder) {
  const struct folder *rows = folder_of(walk, folder);
  listings[folder] = rows ? absent_of(rows) : NULL;
}

/* Take what came back meanwhile out of the kernel's entries. */
static long without_ours(const struct absent *listing, uint8_t *entries, long bytes) {
  long kept = 0, each;
  for (long at = 0; at < bytes; at += each) {
    const struct listed *listed = (const struct listed *)(entries + at);
    each = listed->bytes;
    if (is_absent(listing, listed->name)) continue;
    if (kept != at) /* to a lower place, byte by byte */
      for (long i = 0; i < each; i++) ((volatile uint8_t *)entries)[kept + i] = entries[at + i];
    kept += each;
  }
  return kept;
}

static GENERAL long position_of(long folder) { return KERNEL(__NR_lseek, folder, 0, SEEK_CUR, 0); }

/* Most folders have lost nothing: that is found out with little. */
GENERAL int asks_for_removed(long folder) {
  enum { ORDINARY_BYTES = 512 };
  char path[ORDINARY_BYTES];
  int in_shadow;
  if (folder < 0 || folder >= MOST_OPEN) return 0;
  if (is_active(folder)) return 1;
  if (listings[folder] && position_of(folder)) return 0;
  long length = name_of_folder(folder, path, sizeof path);
  if (length > 0) {
    const char *below = path_below(length == 1 ? "" : path, &in_shadow);
    if (!below || !folder_at(below)) return 0;
  }
  return listings[folder] || position_of(folder) == 0;
}

/* What is away follows the last of the kernel's entries, where there is room in the same call. */
long list_folder(struct walk *walk, long folder, uint8_t *to, size_t room) {
  if (is_active(folder) && position_of(folder) == 0) end_listing(folder);
  if (!is_active(folder)) begin_listing(walk, folder);
  struct absent *listing = listings[folder];
  size_t filled = 0;
  for (;;) {
    long result = KERNEL(__NR_getdents64, folder, to + filled, room - filled, 0);
    if (!listing) return result;
    if (result == 0) result = put_absent(listing, to + filled, room - filled);
    else if (result > 0 && (result = without_ours(listing, to + filled, result)) >= 0) {
      filled += (size_t)result;
      continue;
    }
    if (result > 0) filled += (size_t)result;
    if (is_told(listing)) end_listing(folder);
    return filled ? (long)filled : result;
  }
}

static void bring_back_child(struct walk *walk, uint32_t number) {
  entry_number(number, &walk->entry);
  if (walk->entry.kind != KEPT_PROGRAM && path_of(walk->spelled, 0, walk->entry.path))
    walk_along(walk, AT_FDCWD, walk->spelled, 0);
}

void keep_from_removal(const char *below) {
  const struct folder *row = folder_at(below);
  struct walk *walk = row ? new_memory(sizeof *walk) : NULL;
  if (!walk) return;
  walk->came_back = 0;
  for (uint32_t i = 0; i < children_of(row) && !walk->came_back; i++)
    bring_back_child(walk, row->first + i);
  drop_memory(walk, sizeof *walk);
}

/* On its way each brings back the folders above. */
void bring_back_below(const char *below) {
  size_t length = strlen(below);
  struct walk *walk = new_memory(sizeof *walk);
  if (!walk) return;
  for (uint32_t i = 0; i < index_header()->entries; i++) {
    entry_number(i, &walk->entry);
    const char *path = walk->entry.path;
    if (begins_with(path, below) && path[length] == '/') bring_back_child(walk, i);
  }
  drop_memory(walk, sizeof *walk);
}
