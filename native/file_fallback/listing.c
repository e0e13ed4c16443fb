#include "listing.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absent.h"

enum { MOST_OPEN = 1 << 16, PAGE_BYTES = 4096 };

/* Of an open folder that is being listed, and the entries missing at the beginning of the list.
 * Entries restored meanwhile stay in our part, so every name is in the list once. A thread that
 * lists takes it out, so that no two threads have it. */
static struct absent *listings[MOST_OPEN];
static struct absent told; /* for a complete list: unless it begins again, the kernel continues */

/* The process of the table. Its page reads as zeros in a forked child, which then has its own
 * table. A child that shares the memory (vfork(2), posix_spawn(3)) finds another process number:
 * the table does not describe its open files. */
static long *owner;

static int owns_table(void) {
  long process = KERNEL(__NR_getpid, 0, 0, 0, 0), *page = __atomic_load_n(&owner, __ATOMIC_ACQUIRE), nobody = 0;
  if (!page) {
    long *other = NULL;
    if (!(page = new_memory(PAGE_BYTES))) return 0;
    KERNEL(__NR_madvise, page, PAGE_BYTES, MADV_WIPEONFORK, 0);
    if (!__atomic_compare_exchange_n(&owner, &other, page, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      drop_memory(page, PAGE_BYTES);
      page = other;
    }
  }
  return __atomic_compare_exchange_n(page, &nobody, process, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
         nobody == process;
}

static const struct folder *folder_of(struct walk *walk, long folder) {
  int in_overlay;
  if (!path_of_folder(folder, walk->here) || !sees_environment()) return NULL;
  const char *below = path_below(walk->here, &in_overlay);
  return below ? folder_at(below) : NULL;
}

static GENERAL long position_of(long folder) { return KERNEL(__NR_lseek, folder, 0, SEEK_CUR, 0); }

/* The known listing of an open folder; NULL if it is another folder now, or begins. */
static struct absent *take_listing(long folder, long position) {
  struct absent *listing = __atomic_exchange_n(&listings[folder], NULL, __ATOMIC_ACQ_REL);
  struct status status;
  if (!listing || listing == &told) return NULL;
  if (position && !KERNEL(__NR_fstat, folder, &status, 0, 0) && status.device == listing->device &&
      status.file == listing->file)
    return listing;
  drop_absent(listing);
  return NULL;
}

/* Whether it is kept: not by a child that shares the memory. Any process may note that a list is
 * complete. */
static int keep_listing(long folder, struct absent *listing) {
  struct absent *other = NULL;
  struct status status;
  if (is_told(listing)) {
    drop_absent(listing);
    __atomic_compare_exchange_n(&listings[folder], &other, &told, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return 1;
  }
  if (!owns_table() || KERNEL(__NR_fstat, folder, &status, 0, 0)) {
    drop_absent(listing);
    return 0;
  }
  listing->device = status.device;
  listing->file = status.file;
  other = __atomic_exchange_n(&listings[folder], listing, __ATOMIC_ACQ_REL);
  if (other && other != &told) drop_absent(other);
  return 1;
}

static struct absent *begin_listing(struct walk *walk, long folder) {
  const struct folder *rows = folder_of(walk, folder);
  return rows ? absent_of(rows) : NULL;
}

static const char *hidden;

void hide_once(const char *name) { hidden = name; }

static GENERAL int hides(void) { return __atomic_load_n(&hidden, __ATOMIC_RELAXED) != NULL; }

static int is_hidden(const char *name) {
  if (!hidden || !is_same(hidden, name)) return 0;
  hidden = NULL;
  return 1;
}

/* Remove entries that were restored meanwhile from the kernel's entries. */
static long without_ours(const struct absent *listing, uint8_t *entries, long bytes) {
  long kept = 0, each;
  for (long at = 0; at < bytes; at += each) {
    const struct listed *listed = (const struct listed *)(entries + at);
    each = listed->bytes;
    if ((listing && is_absent(listing, listed->name)) || is_hidden(listed->name)) continue;
    if (kept != at) /* to a lower address, byte by byte */
      for (long i = 0; i < each; i++) ((volatile uint8_t *)entries)[kept + i] = entries[at + i];
    kept += each;
  }
  return kept;
}

static GENERAL int is_active(long folder) {
  const struct absent *listing = __atomic_load_n(&listings[folder], __ATOMIC_ACQUIRE);
  return listing && listing != &told;
}

/* Most folders have lost nothing: find that out cheaply. */
GENERAL int asks_for_removed(long folder) {
  enum { ORDINARY_BYTES = 512 };
  char path[ORDINARY_BYTES];
  int in_overlay;
  if (folder < 0 || folder >= MOST_OPEN) return 0;
  if (is_active(folder)) return 1;
  const struct absent *listing = __atomic_load_n(&listings[folder], __ATOMIC_ACQUIRE);
  if (listing && position_of(folder)) return 0;
  long length = name_of_folder(folder, path, sizeof path);
  if (length > 0) {
    const char *below = path_below(length == 1 ? "" : path, &in_overlay);
    if (!below || (!folder_at(below) && !hides())) return 0;
  }
  return listing || position_of(folder) == 0;
}

static long list_by_kernel(long folder, uint8_t *to, size_t room) {
  return KERNEL(__NR_getdents64, folder, to, room, 0);
}

/* If nothing can be kept between two calls, missing entries come before the kernel's first
 * entries. */
static long list_at_once(struct walk *walk, long folder, uint8_t *to, size_t room) {
  struct absent *listing = position_of(folder) ? NULL : begin_listing(walk, folder);
  long ours = listing ? put_absent(listing, to, room) : 0, result = 0;
  if (ours > 0 && is_told(listing)) result = list_by_kernel(folder, to + ours, room - (size_t)ours);
  if (result > 0) result = ours + without_ours(listing, to + ours, result);
  if (listing) drop_absent(listing);
  return result > 0 ? result : list_by_kernel(folder, to, room);
}

/* Missing entries follow the kernel's last entries, in the same call if they fit. */
long list_folder(struct walk *walk, long folder, uint8_t *to, size_t room) {
  struct absent *listing = NULL;
  long position = 0; /* as `asks_for_removed` found if no listing is kept */
  if (is_active(folder)) {
    if (!owns_table()) return list_at_once(walk, folder, to, room);
    position = position_of(folder);
    listing = take_listing(folder, position);
  }
  if (!listing && position == 0) listing = begin_listing(walk, folder);
  size_t filled = 0;
  long result;
  while (!listing && (result = list_by_kernel(folder, to, room)) > 0 && hides())
    if ((result = without_ours(NULL, to, result))) break;
  if (!listing) return result;
  while ((result = list_by_kernel(folder, to + filled, room - filled)) > 0)
    filled += (size_t)without_ours(listing, to + filled, result);
  if (result == 0) result = put_absent(listing, to + filled, room - filled);
  if (result > 0) filled += (size_t)result;
  if (keep_listing(folder, listing) || position) return filled ? (long)filled : result;
  KERNEL(__NR_lseek, folder, 0, SEEK_SET, 0);
  return list_at_once(walk, folder, to, room);
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

/* Each restores its parent folders too. */
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
