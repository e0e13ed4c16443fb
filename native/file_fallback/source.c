#define _GNU_SOURCE
#include "source.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <linux/openat2.h>

#include "place.h"
#include "stand_in.h"
#include "walk.h"

/* Whether the folder of a path is on the environment's device, and no link leads there. */
static int is_in_its_place(const char *path) {
  const struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_DIRECTORY, .resolve = RESOLVE_NO_SYMLINKS};
  char above[PATH_BYTES];
  struct status status;
  memcpy(above, path, strlen(path) + 1);
  cut_last(above);
  long folder = KERNEL(__NR_openat2, AT_FDCWD, *above ? above : "/", &how, sizeof how);
  if (folder < 0) return 0;
  long error = KERNEL(__NR_fstat, folder, &status, 0, 0);
  close_file(folder);
  return !error && status.device == environment_device();
}

int tell_source(const struct call *call, const long arguments[6], struct entry *entry, long *result) {
  const char *path = (const char *)arguments[call->first.path];
  int in_overlay;
  if (strlen(path) >= PATH_BYTES || !is_spelled_plainly(path)) return 0;
  const char *below = path_below(path, &in_overlay);
  if (!below || in_overlay) return 0;
  if (!is_same(entry->path, below) && !entry_at(below, entry)) {
    *entry->path = 0;
    return 0;
  }
  if (!is_told_to_python(entry) || !sees_environment() || !is_in_its_place(path) || is_back_anywhere(entry)) return 0;
  *result = tell(call, arguments, entry);
  return 1;
}
