/* Which system calls others can see. */
#define _GNU_SOURCE
#include <asm/termbits.h>
#include <asm/unistd_64.h>
#include <asm/ioctls.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "recorded_call.h"

enum { MASK_BYTES = 128, MOST_NUMBERS = 512, MOST_FILES = 1024, MOST_MADE = 64, PATH_ROOM = 4096 };
enum { NEW = O_CREAT | O_EXCL };

/* A number that is not here is visible, unless filter.c has it. */
static const uint8_t shapes[MOST_NUMBERS] = {
    [__NR_stat] = PATH, [__NR_lstat] = PATH, [__NR_access] = PATH, [__NR_readlink] = PATH, [__NR_statfs] = PATH,
    [__NR_getxattr] = PATH, [__NR_lgetxattr] = PATH, [__NR_newfstatat] = PATH_AT, [__NR_statx] = PATH_AT,
    [__NR_faccessat] = PATH_AT, [__NR_faccessat2] = PATH_AT, [__NR_readlinkat] = PATH_AT, [__NR_open] = OPEN,
    [__NR_openat] = OPEN_AT, [__NR_openat2] = OPEN_AT2, [__NR_getdents64] = FOLDER, [__NR_getrandom] = PLAIN,
    [__NR_clock_gettime] = PLAIN, [__NR_gettimeofday] = PLAIN, [__NR_time] = PLAIN, [__NR_getpid] = PLAIN,
    [__NR_getppid] = PLAIN, [__NR_gettid] = PLAIN, [__NR_getuid] = PLAIN, [__NR_geteuid] = PLAIN,
    [__NR_getgid] = PLAIN, [__NR_getegid] = PLAIN, [__NR_getresuid] = PLAIN, [__NR_getresgid] = PLAIN,
    [__NR_getgroups] = PLAIN, [__NR_sysinfo] = PLAIN, [__NR_clock_getres] = PLAIN, [__NR_getrusage] = PLAIN,
    [__NR_times] = PLAIN, [__NR_getpriority] = PLAIN, [__NR_sched_getscheduler] = PLAIN,
    [__NR_sched_getparam] = PLAIN, [__NR_sched_get_priority_max] = PLAIN, [__NR_sched_get_priority_min] = PLAIN,
    [__NR_get_mempolicy] = PLAIN, [__NR_mbind] = PLACES, [__NR_getcpu] = PLAIN,
    [__NR_epoll_create1] = PLAIN, [__NR_epoll_create] = PLAIN,
    [__NR_eventfd2] = PLAIN, [__NR_socket] = PLAIN, [__NR_setsockopt] = PLAIN, [__NR_bind] = BIND,
    [__NR_link] = LINK, [__NR_unlink] = REMOVE, [__NR_unlinkat] = REMOVE_AT, [__NR_write] = OWN_FILE,
    [__NR_pwrite64] = OWN_FILE, [__NR_ftruncate] = OWN_FILE, [__NR_fchmod] = OWN_FILE, [__NR_prctl] = SETTING,
    [__NR_rt_sigprocmask] = MASK, [__NR_rt_sigaction] = HANDLER, [__NR_fstatfs] = PLAIN,
    [__NR_fadvise64] = STANDARD, [__NR_dup] = STANDARD, [__NR_read] = STANDARD, [__NR_readv] = STANDARD,
    [__NR_pread64] = STANDARD, [__NR_preadv] = STANDARD, [__NR_fstat] = PLAIN, [__NR_lseek] = PLAIN,
    [__NR_mkdir] = NEW_FOLDER, [__NR_connect] = CONNECT,
    [__NR_close] = STANDARD, [__NR_fcntl] = CONTROL, [__NR_ioctl] = QUERY, [__NR_prlimit64] = LIMITS,
    [__NR_sched_getaffinity] = AFFINITY, [__NR_sched_setaffinity] = SET_AFFINITY, [__NR_uname] = MACHINE,
    [__NR_getcwd] = WORKING, [__NR_membarrier] = BARRIER, [__NR_clone] = NEW_PROCESS, [__NR_fork] = NEW_PROCESS,
    [__NR_wait4] = NEW_PROCESS,
};

static uint8_t is_new[MOST_FILES];  /* open files that this process made */
static uint64_t made[MOST_MADE];    /* digests of their paths */
static int may_fork;

enum shape shape_of(long number) { return number >= 0 && number < MOST_NUMBERS ? shapes[number] : VISIBLE; }

void allow_fork(void) { may_fork = 1; }

static uint64_t digest_of(long folder, const char *path) {
  char text[PATH_ROOM];
  uint64_t digest = 0xcbf29ce484222325;
  path_at(folder, path, text, sizeof text);
  for (const char *each = text; *each; each++) digest = (digest ^ (uint8_t)*each) * 0x100000001b3;
  return digest;
}

static uint64_t *place_of(uint64_t digest) {
  for (int i = 0; i < MOST_MADE; i++)
    if (made[i] == digest) return &made[i];
  return NULL;
}

static void remember_path(long folder, const char *path) {
  uint64_t *place = place_of(0);
  if (place) *place = digest_of(folder, path);
}

static int only_reads(long flags) {
  if ((flags & NEW) == NEW) return 1;
  return (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)));
}

/* What the fallbacks write when something was missed is ours, and nothing that the program does. */
static int is_record(const char *path) {
  static const char record[] = "/trimtab/fallback.jsonl";
  size_t bytes = path ? strlen(path) : 0;
  return bytes >= sizeof record - 1 && !strcmp(path + bytes - (sizeof record - 1), record);
}

/* Libraries for several threads give their first thread other processors and then those of before. */
static uint8_t first_processors[MASK_BYTES];

static void get_processors(uint8_t to[MASK_BYTES]) {
  memset(to, 0, MASK_BYTES);
  recorded_call(__NR_sched_getaffinity, 0, MASK_BYTES, (long)to, 0, 0, 0);
}

void remember_processors(void) { get_processors(first_processors); }

int has_first_processors(void) {
  uint8_t now[MASK_BYTES];
  get_processors(now);
  return !memcmp(now, first_processors, MASK_BYTES);
}

/* The C library asks a daemon for users and names first, if there is one. */
static int is_missing_service(const struct sockaddr_un *to, long bytes) {
  return bytes == sizeof *to && to->sun_family == AF_UNIX && to->sun_path[0] == '/' &&
         memchr(to->sun_path, 0, sizeof to->sun_path) &&
         recorded_call(__NR_access, (long)to->sun_path, F_OK, 0, 0, 0, 0);
}

static int is_standard(long file) { return file >= 0 && file < STANDARD_FILES; }

static int is_visible_control(long file, long command) {
  if (command == F_DUPFD_CLOEXEC || command == F_GETFD) return 0;
  return is_standard((int)file) || (command != F_SETFD && command != F_GETFL);
}

static int is_visible_query(long file, long query) {
  if (query == TCGETS || query == TCGETS2 || query == TIOCGWINSZ) return 0; /* guards.py: whether it is a terminal */
  return is_standard((int)file) || (query != FIOCLEX && query != FIONCLEX);
}

int is_visible(long number, const greg_t *registers) {
  enum { NAME_MEMORY = 0x53564d41 };
  long first = registers[REG_RDI], second = registers[REG_RSI], third = registers[REG_RDX];
  switch (shape_of(number)) {
    case VISIBLE: return 1;
    case OPEN: return !only_reads(second);
    case OPEN_AT: return !only_reads(third) && !is_record((const char *)second);
    case OPEN_AT2: return !only_reads(*(const long *)third); /* struct open_how */
    case LINK: return !place_of(digest_of(AT_FDCWD, (const char *)first));
    case REMOVE: return !place_of(digest_of(AT_FDCWD, (const char *)first));
    case REMOVE_AT: return !place_of(digest_of(first, (const char *)second));
    case QUERY: return is_visible_query(first, second);
    case CONTROL: return is_visible_control(first, second);
    case STANDARD: return is_standard((int)first);
    case OWN_FILE: return first < STANDARD_FILES || first >= MOST_FILES || !is_new[first];
    case LIMITS: return third != 0;
    case BIND: return ((const uint16_t *)second)[1] != 0; /* a port that is chosen: whether IPv6 is to be had */
    case SETTING:
      return first != PR_SET_NAME && first != PR_GET_NAME && first != PR_GET_TID_ADDRESS && first != NAME_MEMORY;
    case BARRIER: return first != 0;
    case NEW_FOLDER: return recorded_call(__NR_access, first, F_OK, 0, 0, 0, 0) != 0; /* there is one: it fails */
    case CONNECT: return !is_missing_service((const struct sockaddr_un *)second, third);
    case PLACES: return registers[REG_R10] != 0; /* no nodes are named: as without it */
    case HANDLER: return first == SIGSYS && second;
    case NEW_PROCESS: return !may_fork;
    case SET_AFFINITY: return first != 0;
    default: return 0;
  }
}

static void remember_opened(long folder, const char *path, long flags, long file) {
  if (file < 0 || file >= MOST_FILES) return;
  is_new[file] = (flags & NEW) == NEW;
  if (is_new[file]) remember_path(folder, path);
}

static void forget(uint64_t *place) {
  if (place) *place = 0;
}

void remember(long number, const greg_t *registers, long result) {
  long first = registers[REG_RDI], second = registers[REG_RSI], third = registers[REG_RDX];
  if (result < 0) return;
  switch (shape_of(number)) {
    case OPEN: remember_opened(AT_FDCWD, (const char *)first, second, result); break;
    case OPEN_AT:
      if (!is_record((const char *)second)) remember_opened(first, (const char *)second, third, result);
      else if (result < MOST_FILES) is_new[result] = 1;
      break;
    case OPEN_AT2: remember_opened(first, (const char *)second, *(const long *)third, result); break;
    case LINK: remember_path(AT_FDCWD, (const char *)second); break;
    case REMOVE: forget(place_of(digest_of(AT_FDCWD, (const char *)first))); break;
    case REMOVE_AT: forget(place_of(digest_of(first, (const char *)second))); break;
    default: break;
  }
}
