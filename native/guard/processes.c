/* A process's end and its next programs: environments passed to exec keep the tracer, each process
 * records its end, and announces the programs that it is about to execute. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../signal_stacks/threads.h"
#include "guard.h"

EXPORT struct guard_link trimtab_guard_link = {.foreign_trap = foreign_trap};

static char record_directory[TRIMTAB_PATH_BYTES];
enum { KEPT = 9 };
static char kept_variables[KEPT][TRIMTAB_PATH_BYTES]; /* NAME=value, as this process got them */
static const char *const kept_names[KEPT] = {
    "LD_AUDIT",        "LD_PRELOAD",    "TRIMTAB_RECORD",         "TRIMTAB_NATIVE",
    "TRIMTAB_KERNELS", "TRIMTAB_CUPTI", "CUDA_INJECTION64_PATH", "CUDA_MODULE_LOADING",
    "GLIBC_TUNABLES"};

static void after_fork(void) {
  forget_threads();
  if (trimtab_guard_link.after_fork) trimtab_guard_link.after_fork();
}

__attribute__((constructor)) static void start(void) {
  for (int i = 0; i < KEPT; i++) {
    const char *value = getenv(kept_names[i]);
    if (value) snprintf(kept_variables[i], TRIMTAB_PATH_BYTES, "%s=%s", kept_names[i], value);
  }
  const char *directory = getenv("TRIMTAB_RECORD");
  if (directory) snprintf(record_directory, sizeof record_directory, "%s", directory);
  pthread_atfork(NULL, NULL, after_fork);
  begin_threads(next_function);
}

/* A child of vfork shares this memory: only the process in the record may write to it. */
static void note_end(enum process_end end) {
  struct process_record *process = trimtab_guard_link.process;
  if (process && process->pid == (uint32_t)syscall(SYS_getpid)) process->end = end;
}

__attribute__((destructor)) static void finish(void) { note_end(PROCESS_EXITED); }

EXPORT void _exit(int status) {
  note_end(PROCESS_EXITED);
  for (;;) syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status) { _exit(status); }

EXPORT void quick_exit(int status) {
  REAL(quick_exit);
  note_end(PROCESS_EXITED);
  real(status);
  __builtin_unreachable();
}

/* A file named after the process announces that it is about to execute another program. The reader
 * expects a record of that program; without one, the trace is incomplete. */
struct expectation {
  char file[TRIMTAB_PATH_BYTES + 64];
};

static void expect_program(struct expectation *expectation, pid_t pid, const char *path) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  snprintf(expectation->file, sizeof expectation->file, "%s/exec-%d-%lld", record_directory, pid,
           (long long)time.tv_sec * 1000000000 + time.tv_nsec);
  int file = open(expectation->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  int written = file >= 0 && write(file, path, strlen(path)) == (ssize_t)strlen(path);
  if (file >= 0) close(file);
  if (written) return;
  unlink(expectation->file);
  struct process_record *process = trimtab_guard_link.process;
  if (process) __atomic_add_fetch(&process->lost, 1, __ATOMIC_RELAXED);
}

static int count_of(char *const list[]) {
  int count = 0;
  while (list && list[count]) count++;
  return count;
}

/* `environment` with the tracer's variables as this process got them. It is on the caller's stack:
 * a child of vfork must not allocate. */
static void keep_tracer(char *const environment[], char **kept) {
  int count = 0;
  for (int i = 0; environment && environment[i]; i++) {
    int ours = 0;
    for (int k = 0; k < KEPT; k++) {
      size_t length = strlen(kept_names[k]);
      ours |= !strncmp(environment[i], kept_names[k], length) && environment[i][length] == '=';
    }
    if (!ours) kept[count++] = environment[i];
  }
  for (int k = 0; k < KEPT; k++)
    if (*kept_variables[k]) kept[count++] = kept_variables[k];
  kept[count] = NULL;
}

#define REPLACE(path, call) \
  struct expectation expectation; \
  expect_program(&expectation, (pid_t)syscall(SYS_getpid), path); \
  note_end(PROCESS_REPLACED); \
  call; \
  int error = errno; \
  note_end(PROCESS_RUNNING); \
  unlink(expectation.file); \
  errno = error; \
  return -1

EXPORT int execve(const char *path, char *const arguments[], char *const environment[]) {
  REAL(execve);
  char *kept[count_of(environment) + KEPT + 1];
  keep_tracer(environment, kept);
  REPLACE(path, real(path, arguments, kept));
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[]) {
  REAL(execvpe);
  char *kept[count_of(environment) + KEPT + 1];
  keep_tracer(environment, kept);
  REPLACE(file, real(file, arguments, kept));
}

EXPORT int fexecve(int file, char *const arguments[], char *const environment[]) {
  REAL(fexecve);
  char path[32], *kept[count_of(environment) + KEPT + 1];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  keep_tracer(environment, kept);
  REPLACE(path, real(file, arguments, kept));
}

EXPORT int execv(const char *path, char *const arguments[]) {
  return execve(path, arguments, environ);
}

EXPORT int execvp(const char *file, char *const arguments[]) {
  return execvpe(file, arguments, environ);
}

#define LIST_ARGUMENTS(first) \
  va_list list, again; \
  va_start(list, first); \
  va_copy(again, list); \
  int count = 1; \
  while (va_arg(again, char *)) count++; \
  va_end(again); \
  char *arguments[count + 1]; \
  arguments[0] = (char *)first; \
  for (int i = 1; i <= count; i++) arguments[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...) {
  LIST_ARGUMENTS(first);
  va_end(list);
  return execve(path, arguments, environ);
}

EXPORT int execlp(const char *file, const char *first, ...) {
  LIST_ARGUMENTS(first);
  va_end(list);
  return execvpe(file, arguments, environ);
}

EXPORT int execle(const char *path, const char *first, ...) {
  LIST_ARGUMENTS(first);
  char *const *environment = va_arg(list, char *const *);
  va_end(list);
  return execve(path, arguments, environment);
}

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *, char *const[], char *const[]);

static int spawn(spawn_function *real, pid_t *pid, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const arguments[], char *const environment[]) {
  char *kept[count_of(environment) + KEPT + 1];
  keep_tracer(environment, kept);
  pid_t child;
  int error = real(&child, path, actions, attributes, arguments, kept);
  if (error) return error;
  struct expectation expectation;
  expect_program(&expectation, child, path);
  if (pid) *pid = child;
  return 0;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const arguments[],
                       char *const environment[]) {
  REAL(posix_spawn);
  return spawn(real, pid, path, actions, attributes, arguments, environment);
}

EXPORT int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const arguments[],
                        char *const environment[]) {
  REAL(posix_spawnp);
  return spawn(real, pid, path, actions, attributes, arguments, environment);
}
