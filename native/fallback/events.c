#define _GNU_SOURCE
#include "events.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "give_up.h"
#include "open_file.h"
#include "place.h"

extern char **environ;

static enum { RESTORE, STRICT, REPORT } behaviour;
enum { NAME_BYTES = 4096, READABLE_BYTES = 400 };

static char record_path[PATH_MAX], line[3 * PATH_MAX];
static char chosen_cache[PATH_MAX]; /* as it was at the start: at a miss, the variables may be changing */
static int is_in_own_folder; /* the record, as the environment cannot be written */
static unsigned long misses; /* of this process */

/* The record is in the environment, or, if that is not writable, in a folder of the user (see
 * ../file_fallback/place.c). */
static void name_record(void) {
  char own[64], ours[PATH_MAX + 16];
  const char *folder = ours;
  snprintf(own, sizeof own, "/tmp/trimtab-cache-%u", (unsigned)getuid());
  snprintf(ours, sizeof ours, "%s/trimtab", environment_root);
  is_in_own_folder = faccessat(AT_FDCWD, ours, W_OK, AT_EACCESS) != 0;
  if (is_in_own_folder) folder = *chosen_cache ? chosen_cache : own;
  if (snprintf(record_path, sizeof record_path, "%s/fallback.jsonl", folder) >=
      (int)sizeof record_path)
    *record_path = 0;
}

/* Open the record; in a folder of the user, only if nobody else may change that folder. */
static int open_record(void) {
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK;
  if (is_in_own_folder) {
    char folder[PATH_MAX];
    struct stat status;
    snprintf(folder, sizeof folder, "%s", record_path);
    *strrchr(folder, '/') = 0;
    mkdir(folder, S_IRWXU);
    if (lstat(folder, &status) || !S_ISDIR(status.st_mode) || status.st_mode & (S_IWGRP | S_IWOTH) ||
        status.st_uid != geteuid())
      return -1;
    flags |= O_NOFOLLOW;
  }
  return open_file(record_path, flags);
}

void start_events(void) {
  const char *chosen = getenv("TRIMTAB_FALLBACK"), *record = getenv("TRIMTAB_FALLBACK_RECORD");
  const char *cache = getenv("TRIMTAB_STORE_CACHE");
  if (chosen && !strcmp(chosen, "strict")) behaviour = STRICT;
  else if (chosen && !strcmp(chosen, "report")) behaviour = REPORT;
  else if (chosen && *chosen && strcmp(chosen, "restore"))
    fprintf(stderr, "trimtab: TRIMTAB_FALLBACK=%s: expected restore, strict or report; restore is "
                    "taken\n", chosen);
  if (record && *record) snprintf(record_path, sizeof record_path, "%s", record);
  if (cache) snprintf(chosen_cache, sizeof chosen_cache, "%s", cache);
}

/* A process that writes beyond RLIMIT_FSIZE gets SIGXFSZ. */
static int may_grow(int file, size_t bytes) {
  struct rlimit limit;
  struct stat status;
  return !getrlimit(RLIMIT_FSIZE, &limit) && !fstat(file, &status) &&
         (limit.rlim_cur == RLIM_INFINITY || (size_t)status.st_size + bytes <= limit.rlim_cur);
}

/* Write a line of the record; "" if it does not fit. */
__attribute__((format(printf, 3, 4))) static void write_line(char *to, size_t bytes, const char *format, ...) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int length = snprintf(to, bytes, "{\"pid\": %d, \"time_s\": %lld.%03ld, ", (int)getpid(), (long long)now.tv_sec,
                        now.tv_nsec / 1000000);
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(to + length, bytes - (size_t)length, format, arguments);
  va_end(arguments);
  if ((size_t)length >= bytes) *to = 0;
}

/* One write per line, so that lines of several processes do not mix. */
static void append(void) {
  size_t length = strlen(line);
  if (!length) return;
  if (!*record_path) name_record();
  int file = *record_path ? open_record() : -1;
  if (file < 0) return;
  ssize_t written = may_grow(file, length) ? write(file, line, length) : 0;
  (void)written;
  close(file);
}

/* Write the inside of a JSON string, as far as it fits. `backslash` replaces a backslash: in names
 * of files it is doubled twice, as one backslash marks a byte that is not UTF-8
 * (records/values.py). */
static void json_text(char *to, size_t to_bytes, const char *from, const char *backslash) {
  char *end = to + to_bytes - 1, escaped[8];
  for (; *from; from++) {
    unsigned char byte = (unsigned char)*from;
    if (byte == '\\') snprintf(escaped, sizeof escaped, "%s", backslash);
    else if (byte == '"') snprintf(escaped, sizeof escaped, "\\\"");
    else if (byte < ' ' || byte == 127) snprintf(escaped, sizeof escaped, "\\u%04x", byte);
    else snprintf(escaped, sizeof escaped, "%c", byte);
    size_t length = strlen(escaped);
    if (length > (size_t)(end - to)) break;
    memcpy(to, escaped, length);
    to += length;
  }
  *to = 0;
}

/* The program's C++ library does this, and allocates memory: this process ends afterwards. */
static const char *demangled(const char *name) {
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return name;
  char *(*demangle)(const char *, char *, size_t *, int *) =
      (char *(*)(const char *, char *, size_t *, int *))dlsym(library, "__cxa_demangle");
  int status = -1;
  char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
  return text ? text : name;
}

static struct {
  char name[NAME_BYTES], near[NAME_BYTES], library[PATH_MAX];
  uint32_t address;
  int is_data;
} refused; /* the miss that ends the process */

static int is_refused(const struct miss *miss) {
  if (behaviour != STRICT || *refused.library) return 0;
  const char *base_name = strrchr(miss->library, '/');
  snprintf(refused.library, sizeof refused.library, "%s", base_name ? base_name + 1 : miss->library);
  snprintf(refused.name, sizeof refused.name, "%s", miss->name);
  snprintf(refused.near, sizeof refused.near, "%s", miss->near);
  refused.address = miss->address;
  refused.is_data = miss->is_data;
  return 1;
}

void refuse(void) {
  int named = *refused.name != 0;
  const char *unnamed = refused.is_data ? "data" : "code";
  /* The code that demangles names may have been removed too: it is restored as in any other run. */
  unsigned long faults = 1ul << (SIGSEGV - 1) | 1ul << (SIGTRAP - 1);
  behaviour = REPORT;
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &faults, NULL, sizeof faults);
  const char *readable = demangled(named ? refused.name : refused.near);
  give_up("%s%.*s%s in %s (address 0x%x) was removed: no profiled run used it; profile the workload "
          "with it, or run with TRIMTAB_FALLBACK=restore",
          named ? "" : *refused.near ? "a function without a name behind " : unnamed,
          READABLE_BYTES, readable, strlen(readable) > READABLE_BYTES ? "..." : "",
          refused.library, refused.address);
}

void line_of_miss(char *to, size_t to_bytes, const struct miss *miss) {
  static char function[NAME_BYTES], library[2 * PATH_MAX];
  json_text(function, sizeof function, miss->name, "\\\\");
  json_text(library, sizeof library, miss->library, "\\\\\\\\");
  write_line(to, to_bytes, "\"library\": \"%s\", \"address\": %u, \"function\": \"%s\"}\n", library, miss->address,
             function);
}

int note_miss(const struct miss *miss) {
  misses++;
  if (behaviour != REPORT) {
    line_of_miss(line, sizeof line, miss);
    append();
  }
  return is_refused(miss);
}

void forget_misses(void) { misses = 0; }

/* Run the operator's program with the record as its argument. */
static void run_hook(void) {
  const char *hook = getenv("TRIMTAB_FALLBACK_HOOK");
  if (!hook || !*hook) return;
  char *arguments[] = {(char *)hook, record_path, NULL};
  pid_t child;
  int error = posix_spawn(&child, hook, NULL, NULL, arguments, environ);
  if (error) fprintf(stderr, "trimtab: TRIMTAB_FALLBACK_HOOK=%s: %s\n", hook, strerror(error));
  else waitpid(child, NULL, 0);
}

__attribute__((destructor)) static void finish(void) {
  if (!misses) return;
  write_line(line, sizeof line, "\"functions\": %lu}\n", misses);
  append();
  run_hook();
}
