// Preloaded into our own process: the n-th call of a kind that changes something fails.
//
// faults_begin(KIND, N, ERROR) has call N of KIND fail with ERROR, or with ERROR 0 write half; N 0
// only counts. Calls on files that are no regular ones do not count. What failed is told by
// faults_hit. Programs that are started do not inherit any of it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { OPEN, WRITE, RENAME, LINK, MKDIR, TRUNCATE, SYNC, FORK, KINDS };

static atomic_long counts[KINDS];
static int chosen = -1, error_number;
static long chosen_call;
static char hit[4096];

__attribute__((constructor)) static void leave_children_alone(void) { unsetenv("LD_PRELOAD"); }

void faults_begin(int kind, long call, int error) {
  for (int i = 0; i < KINDS; i++) atomic_store(&counts[i], 0);
  chosen = kind, chosen_call = call, error_number = error;
  hit[0] = 0;
}

long faults_count(int kind) { return atomic_load(&counts[kind]); }
const char *faults_hit(void) { return hit; }

static int fails(enum kind kind, const char *name) {
  long call = atomic_fetch_add(&counts[kind], 1) + 1;
  if ((int)kind != chosen || call != chosen_call) return 0;
  snprintf(hit, sizeof hit, "%s", name ? name : "?");
  return 1;
}

// Whether the call on an open file fails.
static int fails_on(enum kind kind, int descriptor) {
  struct stat status;
  if (chosen < 0 || descriptor <= 2 || fstat(descriptor, &status) || !S_ISREG(status.st_mode)) return 0;
  char link[64], name[2048];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, name, sizeof name - 1);
  name[length < 0 ? 0 : length] = 0;
  return fails(kind, name);
}

static const char *both(const char *old, const char *new) {
  static _Thread_local char names[4096];
  snprintf(names, sizeof names, "%s -> %s", old, new);
  return names;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define REFUSE return errno = error_number ? error_number : EIO, -1

#define OPENS(name, given, passed, path)                                   \
  int name given {                                                        \
    mode_t mode = 0;                                                      \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                \
      va_list more;                                                       \
      va_start(more, flags), mode = va_arg(more, mode_t), va_end(more);   \
    }                                                                     \
    if ((flags & O_ACCMODE) != O_RDONLY && fails(OPEN, path)) REFUSE;     \
    return REAL(name) passed;                                             \
  }
OPENS(open, (const char *path, int flags, ...), (path, flags, mode), path)
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode), path)
OPENS(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)
OPENS(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)

#define WRITES(name, given, passed, halved)                    \
  ssize_t name given {                                         \
    if (!fails_on(WRITE, to)) return REAL(name) passed;        \
    if (error_number || size < 2) REFUSE;                      \
    return REAL(name) halved;                                  \
  }
WRITES(write, (int to, const void *data, size_t size), (to, data, size), (to, data, size / 2))
WRITES(pwrite64, (int to, const void *data, size_t size, off64_t at), (to, data, size, at),
       (to, data, size / 2, at))
ssize_t sendfile64(int to, int from, off64_t *at, size_t size);
WRITES(sendfile64, (int to, int from, off64_t *at, size_t size), (to, from, at, size),
       (to, from, at, size > 100 ? 100 : size / 2))
WRITES(copy_file_range, (int from, off64_t *in, int to, off64_t *at, size_t size, unsigned flags),
       (from, in, to, at, size, flags), (from, in, to, at, size > 100 ? 100 : size / 2, flags))

#define FAILS(kind, name, given, passed, path)   \
  int name given {                               \
    if (fails(kind, path)) REFUSE;               \
    return REAL(name) passed;                    \
  }
FAILS(RENAME, rename, (const char *old, const char *new), (old, new), both(old, new))
FAILS(RENAME, renameat, (int a, const char *old, int b, const char *new), (a, old, b, new), both(old, new))
FAILS(RENAME, renameat2, (int a, const char *old, int b, const char *new, unsigned flags),
      (a, old, b, new, flags), both(old, new))
FAILS(LINK, link, (const char *old, const char *new), (old, new), new)
FAILS(LINK, linkat, (int a, const char *old, int b, const char *new, int flags),
      (a, old, b, new, flags), new)
FAILS(LINK, symlink, (const char *text, const char *new), (text, new), new)
FAILS(LINK, symlinkat, (const char *text, int at, const char *new), (text, at, new), new)
FAILS(MKDIR, mkdir, (const char *path, mode_t mode), (path, mode), path)
FAILS(MKDIR, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), path)

int ftruncate64(int to, off64_t size) {
  if (fails_on(TRUNCATE, to)) REFUSE;
  return REAL(ftruncate64)(to, size);
}
int fsync(int file) {
  if (fails_on(SYNC, file)) REFUSE;
  return REAL(fsync)(file);
}
pid_t fork(void) {
  if (fails(FORK, "a process")) REFUSE;
  return REAL(fork)();
}
// What is called before exec: a child of its own is as good, and can be made from here.
pid_t vfork(void) {
  if (fails(FORK, "a process")) REFUSE;
  return REAL(fork)();
}
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *), void *given) {
  if (fails(FORK, "a thread")) return EAGAIN;
  return REAL(pthread_create)(thread, how, start, given);
}
