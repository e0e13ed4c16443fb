#include "bring_back.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "byte_code.h"
#include "contents.h"
#include "record.h"
#include "stand_in.h"

enum { NO_REPLACE = 1, NAP_NS = 1000000, MOST_NAPS = 30000, RIGHTS_OF_OWNERS = 06000 };

int is_there(const char *path) {
  struct status status;
  return !status_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status);
}

long open_state(int flags) {
  char path[PATH_BYTES];
  return path_of(path, 0, STATE_FILE) ? open_path(AT_FDCWD, path, flags, 0) : -ENAMETOOLONG;
}

int has_state(long file, const struct entry *entry, uint8_t wanted) {
  uint8_t state = AWAY;
  kernel(__NR_pread64, file, (long)&state, 1, entry->number, 0, 0);
  return state == wanted;
}

static void set_back(long file, const struct entry *entry) {
  uint8_t state = BACK;
  kernel(__NR_pwrite64, file, (long)&state, 1, entry->number, 0, 0);
}

int is_away(long state, const struct entry *entry) {
  return state < 0 || has_state(state, entry, AWAY);
}

/* Unlocked explicitly, as a child forked meanwhile has the file too. The wait is limited: without
 * the lock two processes may do the same work, and one result is used. */
void lock(long file) {
  struct timespec nap = {0, NAP_NS};
  for (int naps = 0; naps < MOST_NAPS; naps++) {
    if (KERNEL(__NR_flock, file, LOCK_EX | LOCK_NB, 0, 0) != -EWOULDBLOCK) return;
    KERNEL(__NR_nanosleep, &nap, NULL, 0, 0);
  }
}

void unlock(long file) {
  KERNEL(__NR_flock, file, LOCK_UN, 0, 0);
  close_file(file);
}

/* Link to another name of the same file, if that exists. */
static long link_to_other_name(const struct entry *entry, int in_overlay, const char *partial) {
  char path[PATH_BYTES];
  struct status status;
  for (const char *name = entry->names; *name; name += strlen(name) + 1)
    if (path_of(path, in_overlay, name) &&
        !status_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) && is_regular(&status) &&
        !KERNEL(__NR_link, path, partial, 0, 0))
      return 0;
  return -ENOENT;
}

int may(const struct entry *entry, unsigned wanted) {
  uint32_t groups[64];
  uint32_t user = (uint32_t)KERNEL(__NR_geteuid, 0, 0, 0, 0);
  int shift = 0;
  if (!user) return !(wanted & X_OK) || entry->mode & 0111;
  long count = KERNEL(__NR_getgroups, sizeof groups / sizeof *groups, groups, 0, 0);
  if ((uint32_t)KERNEL(__NR_getegid, 0, 0, 0, 0) == entry->group) shift = 3;
  for (long i = 0; i < count; i++)
    if (groups[i] == entry->group) shift = 3;
  if (user == entry->user) shift = 6;
  return (entry->mode >> shift & wanted) == wanted;
}

/* An existing stand-in becomes the file, so that earlier look-ups found the same file. */
static long begin_file(const struct entry *entry, int in_overlay, const char *partial) {
  char stand_in[PATH_BYTES];
  if (!path_of_stand_in(stand_in, in_overlay, entry) ||
      KERNEL(__NR_rename, stand_in, partial, 0, 0))
    return open_path(AT_FDCWD, partial, O_RDWR | O_CREAT | O_EXCL, 0600);
  KERNEL(__NR_chmod, partial, 0600, 0, 0);
  return open_path(AT_FDCWD, partial, O_RDWR, 0);
}

static long make_file(const struct entry *entry, int in_overlay, const char *partial) {
  long file = begin_file(entry, in_overlay, partial);
  if (file < 0) return file;
  long error = in_overlay && !may(entry, R_OK) ? make_hollow(entry, file)
                                              : write_contents(entry, file, partial);
  close_file(file);
  return error;
}

void give_attributes(const struct entry *entry, const char *partial) {
  struct timespec times[2] = {{entry->modified_s, entry->modified_ns},
                              {entry->modified_s, entry->modified_ns}};
  struct status now;
  unsigned mode = entry->mode & 07777;
  if (status_of(AT_FDCWD, partial, AT_SYMLINK_NOFOLLOW, &now)) return;
  if ((now.user != entry->user || now.group != entry->group) &&
      KERNEL(__NR_lchown, partial, entry->user, entry->group, 0))
    mode &= ~RIGHTS_OF_OWNERS;
  if (entry->kind != LINK && (now.mode & 07777) != mode) KERNEL(__NR_chmod, partial, mode, 0, 0);
  KERNEL(__NR_utimensat, AT_FDCWD, partial, times, AT_SYMLINK_NOFOLLOW);
}

/* The parent folder keeps its times. */
static long take_place(const char *partial, const char *place) {
  char above[PATH_BYTES];
  struct status status;
  memcpy(above, place, strlen(place) + 1);
  cut_last(above);
  int known = !status_of(AT_FDCWD, *above ? above : "/", 0, &status);
  long error = kernel(__NR_renameat2, AT_FDCWD, (long)partial, AT_FDCWD, (long)place, NO_REPLACE, 0);
  if (error == -EINVAL || error == -ENOSYS) /* the file system does not support this flag */
    error = is_there(place) ? -EEXIST : KERNEL(__NR_rename, partial, place, 0, 0);
  if (error == -EEXIST) error = 0; /* the existing file was made meanwhile */
  else if (!error && known) {
    struct timespec times[2] = {{status.accessed[0], status.accessed[1]},
                                {status.modified[0], status.modified[1]}};
    KERNEL(__NR_utimensat, AT_FDCWD, *above ? above : "/", times, 0);
  }
  return error;
}

void name_partial(char to[PATH_BYTES], int in_overlay) {
  path_of(to, in_overlay, in_overlay ? ".partial-" : "trimtab/.partial-");
  struct text text = {to, to + strlen(to), to + PATH_BYTES, 1};
  put_number(&text, (uint64_t)KERNEL(__NR_gettid, 0, 0, 0, 0), 1);
}

/* Make it beside its place, and rename it when it is complete. */
static long make(const struct entry *entry, int in_overlay, const char *place) {
  char partial[PATH_BYTES];
  long error = -ENOENT;
  name_partial(partial, in_overlay);
  if (KERNEL(__NR_unlink, partial, 0, 0, 0) == -EISDIR) KERNEL(__NR_rmdir, partial, 0, 0, 0);
  if (*entry->names && !link_to_other_name(entry, in_overlay, partial)) error = 0;
  else {
    if (entry->kind == FOLDER) error = KERNEL(__NR_mkdir, partial, 0700, 0, 0);
    else if (entry->kind == LINK) error = KERNEL(__NR_symlink, entry->target, partial, 0, 0);
    else error = make_file(entry, in_overlay, partial);
    if (!error) give_attributes(entry, partial);
  }
  if (!error) error = take_place(partial, place);
  if (KERNEL(__NR_unlink, partial, 0, 0, 0) == -EISDIR) KERNEL(__NR_rmdir, partial, 0, 0, 0);
  return error;
}

/* 1 if it is restored, 0 if it is gone for good, -errno if it cannot be restored here. */
static long back_in_place(const struct entry *entry, const char *place) {
  long file = open_state(O_RDWR), result = file;
  if (file < 0) {
    if ((file = open_state(O_RDONLY)) < 0) return result;
    if (has_state(file, entry, BACK)) result = is_there(place);
    close_file(file);
    return result;
  }
  lock(file);
  if (has_state(file, entry, BACK)) result = is_there(place);
  else {
    result = note_miss(entry->path, entry->kind) ? make(entry, 0, place) : 0;
    if (!result || result == GONE) set_back(file, entry);
    result = result == GONE || result == UNREADABLE ? 0 : result ? result : 1;
  }
  unlock(file);
  return result;
}

static void make_parents(char place[PATH_BYTES], size_t root) {
  for (char *at = place + root + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    KERNEL(__NR_mkdir, place, 0700, 0, 0);
    *at = '/';
  }
}

long open_overlay_guard(void) {
  char guard[PATH_BYTES];
  return path_of(guard, 1, ".lock") ? open_path(AT_FDCWD, guard, O_RDWR | O_CREAT, 0600) : -ENAMETOOLONG;
}

/* Whether it is restored. */
static int back_in_overlay(const struct entry *entry, long refused) {
  char place[PATH_BYTES];
  const char *path = entry->path;
  /* Python goes on without such a source, also where nothing can come back. */
  if (index_header()->kind != ORIGINAL_FOLDER && has_byte_code(entry) && !may_have_overlay()) {
    note_miss(path, entry->kind);
    return 0;
  }
  if (!path_of(place, 1, path))
    give_up(path, ": was removed, and its path in the cache is too long", "", "", "");
  if (is_there(place)) return 1;
  long file = open_overlay_guard(), error = 0;
  if (file >= 0) lock(file);
  if (!is_there(place)) {
    note_miss(path, entry->kind);
    make_parents(place, strlen(overlay_root()));
    error = make(entry, 1, place);
  }
  if (file >= 0) unlock(file);
  if (error == GONE || error == UNREADABLE) return 0;
  if (error || file < 0)
    give_up(path, ": was removed and cannot be put back, neither there nor in ", overlay_root(),
            refused == -ENOSPC || error == -ENOSPC ? ": there is no space" : ": it cannot be written",
            "");
  return 1;
}

/* If something else is mounted on the folder, nothing was removed from that. */
static int is_of_environment(const char *place) {
  char above[PATH_BYTES];
  struct status status;
  memcpy(above, place, strlen(place) + 1);
  do { /* for folders in the overlay, the first parent outside it */
    cut_last(above);
  } while (status_of(AT_FDCWD, *above ? above : "/", 0, &status) && *above);
  return status.device == environment_device();
}

/* A program whose folder is in the overlay may have made files there. */
static enum outcome made_in_overlay(struct walk *walk, const char *below) {
  if (!walk->detour || !path_of(walk->spelled, 1, below)) return NOTHING;
  long length = KERNEL(__NR_readlink, walk->spelled, walk->work, PATH_BYTES - 1, 0);
  if (length < 0 && length != -EINVAL) return NOTHING;
  walk->work[length < 0 ? 0 : length] = 0;
  return IN_OVERLAY;
}

/* Restore all names of a file. */
static void bring_back_names(const struct entry *entry) {
  struct walk *walk = new_memory(sizeof *walk);
  if (!walk) return;
  walk->alone = 1;
  for (const char *name = entry->names; *name; name += strlen(name) + 1)
    if (path_of(walk->spelled, 0, name)) walk_along(walk, AT_FDCWD, walk->spelled, 0);
  drop_memory(walk, sizeof *walk);
}

void bring_back_needs(const struct entry *program) {
  struct walk *walk = new_memory(sizeof *walk);
  if (!walk) return;
  for (uint32_t i = 0; i < program->needs; i++) {
    need_of(program, i, &walk->entry);
    if (path_of(walk->spelled, 0, walk->entry.path)) walk_along(walk, AT_FDCWD, walk->spelled, 1);
  }
  drop_memory(walk, sizeof *walk);
}

enum outcome bring_back(struct walk *walk, int looks) {
  int in_overlay;
  const char *below = path_below(walk->here, &in_overlay);
  if (!below || in_overlay || !sees_environment()) return NOTHING;
  const struct entry *entry = &walk->entry;
  if (!entry_at(below, &walk->entry) || entry->kind == KEPT_PROGRAM) return made_in_overlay(walk, below);
  if (!is_of_environment(walk->here)) return NOTHING;
  if (looks && find_stand_in(walk, entry)) return STOOD_FOR;
  long result = back_in_place(entry, walk->here);
  if (result == 0) return NOTHING;
  if (result < 0) {
    walk->refused = (int)-result;
    if (!back_in_overlay(entry, result)) return NOTHING;
    struct text text = text_in(walk->work, PATH_BYTES);
    put(&text, entry->kind == LINK ? entry->target : "");
  }
  if (entry->needs) bring_back_needs(entry);
  if (*entry->names && result > 0 && !walk->alone) bring_back_names(entry);
  return result < 0 ? IN_OVERLAY : IN_PLACE;
}
