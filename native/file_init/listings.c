#define _GNU_SOURCE
#include "listings.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../file_fallback/absent.h"
#include "../file_fallback/place.h"
#include "asker.h"

enum { MOST = 256, ROOM_BYTES = 1 << 16 };

/* An open folder that a process is listing. The kernel returns its own entries itself; the position
 * shows this process when they end. On an overlay file system positions count the entries of a list
 * made when the folder is opened. So we look in a descriptor opened before the program removed
 * anything. */
static struct listing {
  long process;
  int folder;
  long open;
  int64_t end;           /* the end of the kernel's entries when the listing began */
  struct absent *absent; /* the missing entries at that time; NULL for a free row */
} listings[MOST];
static unsigned oldest;

static uint8_t buffer[ROOM_BYTES] __attribute__((aligned(8)));

static const struct folder *folder_of(long thread, int folder) {
  char path[PATH_BYTES], name[32];
  int in_overlay;
  long open = open_of_asker(thread, folder, O_PATH);
  if (open < 0) return NULL;
  struct text text = text_in(name, sizeof name);
  put(&text, "/proc/self/fd/");
  put_number(&text, (uint64_t)open, 1);
  long length = KERNEL(__NR_readlink, name, path, sizeof path - 1, 0);
  close_file(open);
  if (length <= 0) return NULL;
  path[length == 1 ? 0 : length] = 0;
  const char *below = path_below(path, &in_overlay);
  return below ? folder_at(below) : NULL;
}

static long open_folder(long thread, int folder) {
  return open_of_asker(thread, folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
}

/* The position after the kernel's entries from `position` on; and whether that is the end
 * already. */
static int64_t end_from(long open, int64_t position, int *is_end) {
  long got = -1;
  int64_t at = KERNEL(__NR_lseek, open, position, SEEK_SET, 0);
  for (*is_end = 1; at >= 0; *is_end = 0) {
    if ((got = KERNEL(__NR_getdents64, open, buffer, sizeof buffer, 0)) <= 0) break;
    at = KERNEL(__NR_lseek, open, 0, SEEK_CUR, 0);
  }
  if (got < 0) *is_end = 0;
  return got < 0 ? -1 : at;
}

static struct listing *find(long process, int folder) {
  for (unsigned i = 0; i < MOST; i++)
    if (listings[i].absent && listings[i].process == process && listings[i].folder == folder)
      return listings + i;
  return NULL;
}

static void end(struct listing *listing) {
  drop_absent(listing->absent);
  if (listing->open >= 0) close_file(listing->open);
  listing->absent = NULL;
}

static void begin(long thread, long process, int folder, const struct folder *rows) {
  int is_end;
  struct listing *listing = listings;
  struct absent *absent = absent_of(rows);
  if (!absent) return;
  while (listing < listings + MOST && listing->absent) listing++;
  if (listing == listings + MOST) end(listing = listings + oldest++ % MOST);
  long open = open_folder(thread, folder);
  *listing = (struct listing){process, folder, open, end_from(open, 0, &is_end), absent};
}

int list_for(long thread, int folder, uint64_t to, uint64_t room, int64_t *result) {
  int is_end = 0;
  const struct folder *rows = folder_of(thread, folder);
  if (!rows) return 0;
  long process = process_of(thread);
  int64_t position = position_of_asker(thread, folder);
  struct listing *listing = find(process, folder);
  if (position == 0) {
    if (listing) end(listing);
    begin(thread, process, folder, rows);
    return 0;
  }
  if (!listing || position < 0 || listing->absent->folder != rows) return 0;
  if (position != listing->end) end_from(listing->open, position, &is_end);
  if (position != listing->end && !is_end) {
    listing->absent->next = 0; /* it moved back in the list */
    return 0;
  }
  *result = put_absent(listing->absent, buffer, room < sizeof buffer ? room : sizeof buffer);
  if (*result > 0 && !write_memory(thread, to, buffer, (size_t)*result)) *result = -EFAULT;
  if (!*result) end(listing);
  return 1;
}
