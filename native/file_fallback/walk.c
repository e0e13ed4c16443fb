#define _GNU_SOURCE
#include "walk.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bring_back.h"
#include "top_links.h"

enum { MOST_LINKS = 40 };

/* The path of an open folder if /proc is not mounted: a child changes to the folder. The child has
 * no signal at its end, so the program's own waits do not see it. */
static long path_by_child(long folder, char to[PATH_BYTES]) {
  long at = kernel(__NR_mmap, 0, PATH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0);
  if (at < 0 && at > -PATH_BYTES) return at;
  char *shared = (char *)at;
  long child = kernel(__NR_clone, 0, 0, 0, 0, 0, 0);
  if (child == 0) {
    if (!KERNEL(__NR_fchdir, folder, 0, 0, 0)) KERNEL(__NR_getcwd, shared, PATH_BYTES, 0, 0);
    for (;;) KERNEL(__NR_exit_group, 0, 0, 0, 0);
  }
  if (child > 0) KERNEL(__NR_wait4, child, NULL, __WCLONE, NULL);
  memcpy(to, shared, PATH_BYTES);
  drop_memory(shared, PATH_BYTES);
  return (long)strlen(to);
}

GENERAL long name_of_folder(long folder, char *to, size_t bytes) {
  char name[32];
  if ((int)folder == AT_FDCWD) return KERNEL(__NR_getcwd, to, bytes, 0, 0) - 1;
  struct text text = text_in(name, sizeof name);
  put(&text, "/proc/self/fd/");
  put_number(&text, (uint32_t)folder, 1);
  long length = KERNEL(__NR_readlink, name, to, bytes, 0);
  if (length == (long)bytes) return -ENAMETOOLONG;
  if (length > 0) to[length] = 0;
  return length;
}

int path_of_folder(long folder, char to[PATH_BYTES]) {
  long length = name_of_folder(folder, to, PATH_BYTES);
  if (length == -ENOENT && (int)folder != AT_FDCWD) length = path_by_child(folder, to);
  if (length <= 0 || *to != '/') return 0;
  if (length == 1) *to = 0; /* the top */
  return 1;
}

/* Take the first component of the rest; returns its length. `is_last`: none follows. */
static GENERAL size_t next_name(const char **rest, const char **name, int *is_last) {
  while (**rest == '/') ++*rest;
  *name = *rest;
  while (**rest && **rest != '/') ++*rest;
  *is_last = !**rest;
  return (size_t)(*rest - *name);
}

/* Continue with a link's text and then with the rest. */
static int follow_link(struct walk *walk, const char *text, const char **rest) {
  struct text whole = text_in(walk->spelled, PATH_BYTES);
  put(&whole, text);
  if (**rest) put(&whole, *rest);
  if (!whole.whole) return 0;
  memcpy(walk->rest, walk->spelled, PATH_BYTES);
  *rest = walk->rest;
  if (*text == '/') *walk->here = 0;
  return 1;
}

/* Examine `here`: -EINVAL if it is no link, the length of a link's text in `work`, or the error. */
static long look(struct walk *walk, int is_last, int bring) {
  for (;;) {
    long result = KERNEL(__NR_readlink, walk->here, walk->work, PATH_BYTES - 1, 0);
    if (result >= 0) walk->work[result] = 0;
    if (result >= 0 || result == -EINVAL) walk->in_overlay = 0;
    if (result != -ENOENT || !bring) return result;
    switch (bring_back(walk, is_last && walk->looks)) {
      case IN_PLACE: walk->came_back = 1; continue;
      case STOOD_FOR: walk->came_back = walk->detour = 1; return -EINVAL;
      case IN_OVERLAY:
        walk->came_back = walk->detour = walk->in_overlay = 1;
        return *walk->work ? (long)strlen(walk->work) : -EINVAL;
      default: return -ENOENT;
    }
  }
}

static int go_down(struct walk *walk, const char *name, size_t length) {
  struct text here = {walk->here, walk->here + strlen(walk->here), walk->here + PATH_BYTES, 1};
  put(&here, "/");
  put_part(&here, name, length);
  return here.whole;
}

/* The parent folder may be in the overlay too. At the end of the path that has to be known. */
static int go_up(struct walk *walk, int is_last, int bring) {
  cut_last(walk->here);
  walk->in_overlay = 0;
  return !is_last || !*walk->here || look(walk, 0, bring) == -EINVAL;
}

GENERAL int is_spelled_plainly(const char *path) {
  const char *rest = path, *name;
  for (int is_last = 0; !is_last;) {
    const char *slash = rest;
    size_t length = next_name(&rest, &name, &is_last);
    int is_dots = *name == '.' && (length == 1 || (length == 2 && name[1] == '.'));
    if (*slash != '/' || name != slash + 1 || !length || is_dots) return 0;
  }
  return 1;
}

/* Most paths only lead over existing folders, which one call checks together. Returns the rest of
 * the path after them, with `here` at the last one, or NULL if the kernel does not tell. */
static const char *take_folders(struct walk *walk, const char *path) {
  struct text here = text_in(walk->here, PATH_BYTES);
  if (!is_spelled_plainly(path)) return NULL;
  put(&here, path);
  cut_last(walk->here);
  size_t length = strlen(walk->here);
  if (here.whole && length && !find_without_links(AT_FDCWD, walk->here, O_DIRECTORY)) return path + length;
  *walk->here = 0;
  return NULL;
}

/* Whether the index may have something at the place. */
static GENERAL int may_be_away(const char *place) {
  int in_overlay;
  const char *below = path_below(place, &in_overlay);
  return in_overlay || (below && may_be_entry(below));
}

GENERAL int has_nothing_removed(long folder, const char *path) {
  enum { ORDINARY_BYTES = 512 }; /* the program's stack may have little room */
  char buffer[ORDINARY_BYTES];
  const char *rest = path, *name;
  struct text place = text_in(buffer, sizeof buffer);
  if (*path != '/') {
    long length = name_of_folder(folder, buffer, sizeof buffer);
    if (length <= 0 || *buffer != '/') return 0;
    place.at += length > 1 ? length : 0;
    *place.at = 0;
  }
  const char *top = NULL, *target = NULL; /* the target of a link there */
  size_t top_bytes = 0;
  for (int is_last = 0; !is_last;) {
    size_t length = next_name(&rest, &name, &is_last);
    if (!length || (length == 1 && *name == '.')) continue;
    if (length == 2 && name[0] == '.' && name[1] == '.') {
      if (target || may_be_away(buffer)) return 0;
      cut_last(buffer);
      place.at = buffer + strlen(buffer);
      continue;
    }
    if (*path == '/' && !top && !*buffer && !is_last) {
      top = name;
      top_bytes = length;
      if ((target = top_link(top, top_bytes))) {
        put(&place, target);
        continue;
      }
    }
    put(&place, "/");
    put_part(&place, name, length);
  }
  if (!place.whole || may_be_away(buffer)) return 0;
  long found = find_without_links(target ? AT_FDCWD : folder, target ? buffer : path, 0);
  if (found == -ELOOP && top && !target && learn_top_link(top, top_bytes)) return has_nothing_removed(folder, path);
  return found == -ENOENT;
}

static int go(struct walk *walk, const char *path, int follow, int bring) {
  const char *rest = *walk->here ? NULL : take_folders(walk, path), *name;
  int links = 0, is_last;
  size_t length;
  if (!rest) rest = path;
  while ((length = next_name(&rest, &name, &is_last))) {
    if (length == 1 && *name == '.') continue;
    if (length == 2 && name[0] == '.' && name[1] == '.') {
      if (!go_up(walk, is_last, bring)) return 0;
      continue;
    }
    size_t before = strlen(walk->here);
    if (!go_down(walk, name, length)) return 0;
    long result = look(walk, is_last, bring);
    if (result == -EINVAL || (result >= 0 && is_last && !follow)) continue;
    if (result < 0 || ++links > MOST_LINKS) return 0;
    walk->here[before] = 0;
    if (!follow_link(walk, walk->work, &rest)) return 0;
    walk->in_overlay = 0;
  }
  return 1;
}

GENERAL void forget_walk(struct walk *walk) {
  walk->in_overlay = walk->came_back = walk->detour = walk->alone = walk->looks = walk->refused = 0;
  walk->stood_for = walk->told = 0;
}

int walk_along(struct walk *walk, long folder, const char *path, int follow) {
  int in_overlay;
  walk->came_back = walk->detour = walk->in_overlay = walk->refused = 0;
  walk->stood_for = 0;
  *walk->here = 0;
  if (*path != '/') {
    if (!path_of_folder(folder, walk->here)) return 0;
    const char *below = path_below(walk->here, &in_overlay);
    if (below && in_overlay) {
      struct text text = text_in(walk->spelled, PATH_BYTES);
      put(&text, below);
      if (!path_of(walk->here, 0, walk->spelled)) return 0;
      walk->in_overlay = walk->detour = 1;
    }
  }
  struct text rest = text_in(walk->rest, PATH_BYTES);
  put(&rest, path);
  return rest.whole && go(walk, walk->rest, follow, 1);
}

GENERAL size_t way_up(const char *path) {
  size_t up = 0;
  int depth = 0;
  if (*path == '/') return 0;
  for (const char *at = path, *name = path; *at; name = at) {
    while (*at && *at != '/') at++;
    size_t length = (size_t)(at - name);
    if (length == 2 && name[0] == '.' && name[1] == '.') depth--;
    else if (length && !(length == 1 && *name == '.')) depth++;
    if (depth < 0) {
      up = (size_t)(at - path);
      depth = 0;
    }
    while (*at == '/') at++;
  }
  return up;
}

int real_path(const char *path, char to[PATH_BYTES]) {
  static struct walk first; /* for the start, without a system call */
  static int is_taken;
  int is_first = !__atomic_exchange_n(&is_taken, 1, __ATOMIC_ACQ_REL);
  struct walk *walk = is_first ? &first : new_memory(sizeof *walk);
  if (!walk) return 0;
  int found = 1;
  if (*path != '/') found = path_of_folder(AT_FDCWD, walk->here);
  found = found && go(walk, path, 1, 0);
  if (found) memcpy(to, walk->here, PATH_BYTES);
  if (!is_first) drop_memory(walk, sizeof *walk);
  return found;
}
