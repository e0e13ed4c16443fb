#define _GNU_SOURCE
#include "asker.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include "../file_fallback/system.h"

enum { NAME_BYTES = 64, STATUS_BYTES = 4096, PAGE_BYTES = 4096, IDS = 4 };
enum { REAL, EFFECTIVE, SAVED, OF_FILES };

static const char *name_in_proc(char to[NAME_BYTES], long thread, const char *part, int number) {
  struct text text = text_in(to, NAME_BYTES);
  put(&text, "/proc/");
  put_number(&text, (uint64_t)thread, 1);
  put(&text, part);
  if (number >= 0) put_number(&text, (uint64_t)number, 1);
  return to;
}

static long read_file(const char *path, char *to, size_t bytes) {
  long file = open_path(AT_FDCWD, path, O_RDONLY, 0);
  if (file < 0) return file;
  long got = KERNEL(__NR_read, file, to, bytes - 1, 0);
  close_file(file);
  if (got >= 0) to[got] = 0;
  return got;
}

/* The number after a mark, and the rest of the text; NULL without the mark. */
static const char *number_after(const char *at, int64_t *number) {
  while (*at == ' ' || *at == '\t') at++;
  if (*at < '0' || *at > '9') return NULL;
  for (*number = 0; *at >= '0' && *at <= '9'; at++) *number = *number * 10 + (*at - '0');
  return at;
}

static const char *behind(const char *text, const char *mark) {
  for (; *text; text++)
    if (begins_with(text, mark)) return text + strlen(mark);
  return NULL;
}

static int read_ids(const char *status, const char *mark, int64_t ids[IDS]) {
  const char *at = behind(status, mark);
  for (int i = 0; at && i < IDS; i++) at = number_after(at, ids + i);
  return at != NULL;
}

int is_proc_ours(void) {
  static enum { UNKNOWN, OURS, NOT_OURS } is;
  if (is) return is == OURS;
  is = NOT_OURS;
  char found[NAME_BYTES], own[NAME_BYTES];
  struct text text = text_in(own, sizeof own);
  put_number(&text, (uint64_t)KERNEL(__NR_getpid, 0, 0, 0, 0), 1);
  long length = KERNEL(__NR_readlink, "/proc/self", found, sizeof found - 1, 0);
  if (length <= 0) return 0;
  found[length] = 0;
  if (is_same(found, own)) is = OURS;
  return is == OURS;
}

static int has_ids(long thread, int64_t users[IDS], int64_t groups[IDS]) {
  char name[NAME_BYTES], status[STATUS_BYTES];
  return is_proc_ours() && read_file(name_in_proc(name, thread, "/status", -1), status, sizeof status) > 0 &&
         read_ids(status, "\nUid:", users) && read_ids(status, "\nGid:", groups);
}

/* A superuser without the right to trace other users' processes may inspect one that changed its
 * user, by taking the same real and file user and group. Its rights are still those of its
 * effective user. */
static int take_ids(long thread) {
  int64_t users[IDS], groups[IDS];
  if (KERNEL(__NR_geteuid, 0, 0, 0, 0) || !has_ids(thread, users, groups)) return 0;
  KERNEL(__NR_setresgid, groups[REAL], -1, -1, 0);
  KERNEL(__NR_setresuid, users[REAL], -1, -1, 0);
  KERNEL(__NR_setfsgid, groups[OF_FILES], 0, 0, 0);
  KERNEL(__NR_setfsuid, users[OF_FILES], 0, 0, 0);
  return 1;
}

static void give_back_ids(void) {
  KERNEL(__NR_setresuid, 0, -1, -1, 0);
  KERNEL(__NR_setresgid, 0, -1, -1, 0);
  KERNEL(__NR_setfsuid, 0, 0, 0, 0);
  KERNEL(__NR_setfsgid, KERNEL(__NR_getegid, 0, 0, 0, 0), 0, 0, 0);
}

static int is_refused(long result) { return result == -EPERM || result == -EACCES; }

/* By the process's memory file. This also writes to pages that the program may only read. */
static long move_by_file(long number, long thread, uint64_t address, const void *here, size_t bytes) {
  int writes = number == __NR_process_vm_writev;
  char name[NAME_BYTES];
  long file = open_path(AT_FDCWD, name_in_proc(name, thread, "/mem", -1), writes ? O_WRONLY : O_RDONLY, 0);
  if (file < 0) return file;
  long result = KERNEL(writes ? __NR_pwrite64 : __NR_pread64, file, here, bytes, address);
  close_file(file);
  return result;
}

static long move_by_call(long number, long thread, uint64_t address, const void *here, size_t bytes) {
  struct iovec ours = {(void *)here, bytes}, theirs = {(void *)address, bytes};
  return kernel(number, thread, (long)&ours, 1, (long)&theirs, 1, 0);
}

/* Engines may refuse these calls or not (Docker before version 23): if they do, also for a
 * process's own memory. */
static long move_once(long number, long thread, uint64_t address, const void *here, size_t bytes) {
  static enum { UNKNOWN, CALLS, FILES } way;
  char from = 0, to;
  if (!way) {
    long self = KERNEL(__NR_getpid, 0, 0, 0, 0);
    int is_allowed = move_by_call(__NR_process_vm_readv, self, (uint64_t)&from, &to, 1) == 1;
    way = is_allowed || !is_proc_ours() ? CALLS : FILES;
  }
  return (way == CALLS ? move_by_call : move_by_file)(number, thread, address, here, bytes);
}

static long move(long number, long thread, uint64_t address, const void *here, size_t bytes) {
  long result = move_once(number, thread, address, here, bytes);
  if (!is_refused(result) || !take_ids(thread)) return result;
  result = move_once(number, thread, address, here, bytes);
  give_back_ids();
  return result;
}

/* By pages, as the page after the text may not exist. */
long read_text(long thread, uint64_t address, char *to, size_t limit) {
  for (size_t at = 0; at < limit;) {
    size_t bytes = PAGE_BYTES - (address + at) % PAGE_BYTES;
    if (bytes > limit - at) bytes = limit - at;
    long got = move(__NR_process_vm_readv, thread, address + at, to + at, bytes);
    if (got <= 0) return got ? got : -EFAULT;
    for (size_t end = at + (size_t)got; at < end; at++)
      if (!to[at]) return (long)at;
  }
  return -EFAULT;
}

int write_memory(long thread, uint64_t address, const void *from, size_t bytes) {
  return move(__NR_process_vm_writev, thread, address, from, bytes) == (long)bytes;
}

long open_of_asker(long thread, int folder, int flags) {
  char name[NAME_BYTES];
  int is_working_directory = folder == AT_FDCWD;
  if ((folder < 0 && !is_working_directory) || !is_proc_ours()) return -EBADF;
  name_in_proc(name, thread, is_working_directory ? "/cwd" : "/fd/", is_working_directory ? -1 : folder);
  long file = open_path(AT_FDCWD, name, flags, 0);
  if (!is_refused(file) || !take_ids(thread)) return file;
  file = open_path(AT_FDCWD, name, flags, 0);
  give_back_ids();
  return file;
}

int64_t position_of_asker(long thread, int folder) {
  char name[NAME_BYTES], text[STATUS_BYTES];
  int64_t position;
  if (folder < 0) return -EBADF;
  name_in_proc(name, thread, "/fdinfo/", folder);
  long got = read_file(name, text, sizeof text);
  if (is_refused(got) && take_ids(thread)) {
    got = read_file(name, text, sizeof text);
    give_back_ids();
  }
  const char *at = got > 0 ? behind(text, "pos:") : NULL;
  return at && number_after(at, &position) ? position : -ENOENT;
}

int has_our_root(long thread) {
  char name[NAME_BYTES];
  struct status ours, theirs;
  if (!is_proc_ours()) return 1; /* as far as is known */
  name_in_proc(name, thread, "/root", -1);
  long result = status_of(AT_FDCWD, name, 0, &theirs);
  if (is_refused(result) && take_ids(thread)) {
    result = status_of(AT_FDCWD, name, 0, &theirs);
    give_back_ids();
  }
  return !result && !status_of(AT_FDCWD, "/", 0, &ours) && ours.device == theirs.device &&
         ours.file == theirs.file;
}

int is_our_user(long thread) {
  int64_t users[IDS], groups[IDS];
  return has_ids(thread, users, groups) &&
         users[EFFECTIVE] == KERNEL(__NR_geteuid, 0, 0, 0, 0) &&
         groups[EFFECTIVE] == KERNEL(__NR_getegid, 0, 0, 0, 0);
}

int is_python(long thread) {
  char name[NAME_BYTES], program[STATUS_BYTES];
  if (!is_proc_ours()) return 0;
  long length = KERNEL(__NR_readlink, name_in_proc(name, thread, "/exe", -1), program, sizeof program - 1, 0);
  if (length <= 0) return 0;
  program[length] = 0;
  const char *last = program;
  for (const char *at = program; *at; at++)
    if (*at == '/') last = at + 1;
  return begins_with(last, "python");
}

long process_of(long thread) {
  char name[NAME_BYTES], status[STATUS_BYTES];
  int64_t process;
  if (read_file(name_in_proc(name, thread, "/status", -1), status, sizeof status) <= 0) return thread;
  const char *at = behind(status, "\nTgid:");
  return at && number_after(at, &process) ? process : thread;
}
