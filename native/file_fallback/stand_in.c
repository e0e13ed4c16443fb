#define _GNU_SOURCE
#include "stand_in.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bring_back.h"

enum { BLOCK_BYTES = 4096, SECTOR_BYTES = 512 };

int path_of_stand_in(char to[PATH_BYTES], int in_overlay, const struct entry *entry) {
  char name[64];
  struct text text = text_in(name, sizeof name);
  put(&text, STAND_INS);
  put_number(&text, entry->number, 1);
  return path_of(to, in_overlay, name);
}

long make_hollow(const struct entry *entry, long file) {
  return may_grow(file, entry->bytes) ? KERNEL(__NR_ftruncate, file, entry->bytes, 0, 0) : -EFBIG;
}

static void make_folders(int in_overlay) {
  static const char *const folders[] = {"trimtab", STAND_INS};
  char path[PATH_BYTES];
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    if (path_of(path, in_overlay, folders[i])) KERNEL(__NR_mkdir, path, 0755, 0, 0);
}

/* Its time is set last: with another time it is incomplete, and the holder of the lock makes it
 * again. A file system may only keep the seconds. */
static int is_whole(const struct entry *entry, const char *place) {
  struct status status;
  return !status_of(AT_FDCWD, place, AT_SYMLINK_NOFOLLOW, &status) &&
         (uint64_t)status.bytes == entry->bytes && status.modified[0] == entry->modified_s &&
         (!status.modified[1] || status.modified[1] == entry->modified_ns);
}

/* Made directly in its place: another name would cost as much again. */
static long make(const struct entry *entry, int in_overlay, const char *place) {
  enum { FLAGS = O_WRONLY | O_CREAT | O_NOFOLLOW, RIGHTS = 0777 };
  long file = open_path(AT_FDCWD, place, FLAGS, entry->mode & RIGHTS);
  if (file == -ENOENT) {
    make_folders(in_overlay);
    file = open_path(AT_FDCWD, place, FLAGS, entry->mode & RIGHTS);
  }
  if (file < 0) return file;
  long error = make_hollow(entry, file);
  close_file(file);
  if (!error) give_attributes(entry, place);
  else KERNEL(__NR_unlink, place, 0, 0, 0);
  return error;
}

static int is_back(long state, int in_overlay, const struct entry *entry) {
  char path[PATH_BYTES];
  return in_overlay ? path_of(path, 1, entry->path) && is_there(path)
                   : has_state(state, entry, BACK);
}

/* 1 if it exists, 0 if the file itself was restored or is gone, -errno if none can be made. */
static long stand_in(const struct entry *entry, int in_overlay) {
  char place[PATH_BYTES];
  if (!path_of_stand_in(place, in_overlay, entry)) return -ENAMETOOLONG;
  if (is_whole(entry, place)) return 1;
  long guard = in_overlay ? open_overlay_guard() : open_state(O_RDWR);
  if (guard < 0) return guard;
  lock(guard);
  long result = 0;
  if (!is_back(guard, in_overlay, entry)) {
    result = is_whole(entry, place) ? 0 : make(entry, in_overlay, place);
    if (!result) result = 1;
  }
  unlock(guard);
  return result;
}

/* Whether others restored the file, while this process may only read its metadata. */
static int is_back_for_others(const struct entry *entry) {
  long state = open_state(O_RDONLY);
  int back = state >= 0 && has_state(state, entry, BACK);
  if (state >= 0) close_file(state);
  return back;
}

/* Of all entries, shared with other processes. Only a file that may be written is mapped: on an
 * overlay file system, the mapping of another shows no later changes. */
static const uint8_t *states;

static void map_states(long file) {
  struct status status;
  if (KERNEL(__NR_fstat, file, &status, 0, 0) || status.bytes < index_header()->entries) return;
  long at = kernel(__NR_mmap, 0, index_header()->entries, PROT_READ, MAP_SHARED, file, 0);
  if (at > 0 || at < -BLOCK_BYTES) __atomic_store_n(&states, (const uint8_t *)at, __ATOMIC_RELEASE);
}

int is_back_anywhere(const struct entry *entry) {
  const uint8_t *mapped = __atomic_load_n(&states, __ATOMIC_ACQUIRE);
  if (mapped) return __atomic_load_n(mapped + entry->number, __ATOMIC_ACQUIRE) == BACK;
  long state = open_state(O_RDWR);
  if (state < 0) return is_back_for_others(entry) || (may_have_overlay() && is_back(state, 1, entry));
  int back = has_state(state, entry, BACK);
  map_states(state);
  close_file(state);
  return back;
}

GENERAL int names_source(const char *path) {
  static const char ending[] = ".py";
  size_t length = strlen(path), end = sizeof ending - 1;
  return length > end && is_same(path + length - end, ending);
}

static int may_be_stood_for(const struct entry *entry) { return entry->kind == REGULAR && !*entry->names; }

int is_told_to_python(const struct entry *entry) {
  return may_be_stood_for(entry) && names_source(entry->name) && is_asked_by_python();
}

int find_stand_in(struct walk *walk, const struct entry *entry) {
  if (!may_be_stood_for(entry)) return 0;
  if (is_told_to_python(entry)) {
    if (is_back_anywhere(entry)) return 0;
    walk->in_overlay = 0;
    return walk->stood_for = walk->told = 1;
  }
  long result = stand_in(entry, 0);
  if (result < 0 && is_back_for_others(entry)) return 0;
  walk->in_overlay = result < 0 && may_have_overlay();
  if (walk->in_overlay) result = stand_in(entry, 1);
  if (!result) walk->in_overlay = 0;
  if (!result) return 0;
  walk->stood_for = 1;
  walk->told = result < 0;
  return 1;
}

int is_told_by_index(const struct walk *walk) { return walk->stood_for && walk->told; }

static uint64_t file_number(const struct entry *entry) { return ~(uint64_t)entry->number; }

static long tell_status(const struct entry *entry, struct status *status) {
  memset(status, 0, sizeof *status);
  status->device = environment_device();
  status->file = file_number(entry);
  status->links = 1;
  status->mode = S_IFREG | (entry->mode & 07777);
  status->user = entry->user;
  status->group = entry->group;
  status->bytes = (int64_t)entry->bytes;
  status->block_bytes = BLOCK_BYTES;
  status->blocks = (int64_t)(entry->bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
  status->accessed[0] = status->modified[0] = status->changed[0] = entry->modified_s;
  status->accessed[1] = status->modified[1] = status->changed[1] = entry->modified_ns;
  return 0;
}

static long tell_more(const struct entry *entry, struct statx *status) {
  struct status plain;
  struct statx_timestamp modified = {entry->modified_s, entry->modified_ns, 0};
  tell_status(entry, &plain);
  memset(status, 0, sizeof *status);
  status->stx_mask = STATX_BASIC_STATS;
  status->stx_blksize = BLOCK_BYTES;
  status->stx_nlink = 1;
  status->stx_uid = entry->user;
  status->stx_gid = entry->group;
  status->stx_mode = (uint16_t)plain.mode;
  status->stx_ino = plain.file;
  status->stx_size = entry->bytes;
  status->stx_blocks = (uint64_t)plain.blocks;
  status->stx_atime = status->stx_mtime = status->stx_ctime = modified;
  status->stx_dev_major = (uint32_t)((plain.device >> 8 & 0xfff) | (plain.device >> 32 & ~0xffful));
  status->stx_dev_minor = (uint32_t)((plain.device & 0xff) | (plain.device >> 12 & ~0xfful));
  return 0;
}

long tell(const struct call *call, const long arguments[6], const struct entry *entry) {
  unsigned wanted;
  switch (call->number) {
    case __NR_stat:
    case __NR_lstat:
    case __NR_newfstatat:
      if (!is_readable((void *)arguments[call->first.path + 1])) return -EFAULT;
      return tell_status(entry, (struct status *)arguments[call->first.path + 1]);
    case __NR_statx:
      if (!is_readable((void *)arguments[4])) return -EFAULT;
      return tell_more(entry, (struct statx *)arguments[4]);
    case __NR_access:
    case __NR_faccessat:
    case __NR_faccessat2:
      wanted = (unsigned)arguments[call->first.path + 1] & 7;
      if (!may(entry, wanted)) return -EACCES;
      return wanted & W_OK && !may_write_environment() ? -EROFS : 0;
    case __NR_readlink:
    case __NR_readlinkat: return -EINVAL;
    case __NR_listxattr:
    case __NR_llistxattr: return 0;
    default: return -ENODATA; /* no extended attributes are restored */
  }
}
