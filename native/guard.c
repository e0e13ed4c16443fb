/* A preloaded library that keeps the traced program from switching the tracer off, and the
 * tracer from showing: SIGTRAP stays unblocked and ours while the program sees its own settings,
 * environments passed to exec keep the tracer, and each process notes how it ended. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "functions/record.h"

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void foreign_trap(int number, void *info, void *context);
EXPORT struct guard_link trimtab_guard_link = {.foreign_trap = foreign_trap};

/* ---- SIGTRAP as the program believes it to be ---- */

static struct sigaction program_action; /* SIG_DFL at first */
static __thread int trap_blocked, trap_pending;

static void default_trap(void) {
  struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void *restorer;
    unsigned long mask;
  } action = {SIG_DFL, 0, 0, 0};
  syscall(SYS_rt_sigaction, SIGTRAP, &action, NULL, sizeof action.mask);
  unsigned long trap = 1ul << (SIGTRAP - 1);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, NULL, sizeof trap);
}

static void foreign_trap(int number, void *info, void *context) {
  int synchronous = ((siginfo_t *)info)->si_code > 0;
  if (!synchronous && trap_blocked) {
    trap_pending = 1;
    return;
  }
  struct sigaction action = program_action;
  if (action.sa_handler == SIG_IGN && !synchronous) return;
  if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL || trap_blocked) {
    default_trap(); /* as the kernel does when a trap is ignored or blocked */
    return;
  }
  if (action.sa_flags & SA_RESETHAND) program_action.sa_handler = SIG_DFL;
  /* The masks set here are undone when the signal returns. The handler may be the first to use a
   * function, so traps stay open in it. */
  unsigned long trap = 1ul << (SIGTRAP - 1);
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, NULL, sizeof trap);
  sigdelset(&action.sa_mask, SIGTRAP);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &action.sa_mask, NULL, sizeof(unsigned long));
  if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(number, info, context);
  else action.sa_handler(number);
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  REAL(sigaction);
  if (number == SIGTRAP) {
    struct sigaction before = program_action;
    if (action) program_action = *action;
    if (old) *old = before;
    return 0;
  }
  if (!action) return real(number, action, old);
  struct sigaction changed = *action;
  sigdelset(&changed.sa_mask, SIGTRAP); /* a handler may be the first to use a function */
  return real(number, &changed, old);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
  REAL(signal);
  if (number != SIGTRAP) return real(number, handler);
  sighandler_t before = program_action.sa_handler;
  program_action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
  return before;
}

/* Change a mask as asked, but for SIGTRAP, whose state is only remembered. */
static int change_mask(int (*change)(int, const sigset_t *, sigset_t *), int how,
                       const sigset_t *set, sigset_t *old) {
  sigset_t changed, before;
  if (set) {
    changed = *set;
    sigdelset(&changed, SIGTRAP);
  }
  int result = change(how, set ? &changed : NULL, &before);
  if (result) return result;
  int was_blocked = trap_blocked;
  if (set) {
    int named = sigismember(set, SIGTRAP) == 1;
    if (how == SIG_SETMASK) trap_blocked = named;
    else if (named) trap_blocked = how == SIG_BLOCK;
    if (was_blocked && !trap_blocked && trap_pending) {
      trap_pending = 0;
      syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
    }
  }
  if (old) {
    *old = before;
    if (was_blocked) sigaddset(old, SIGTRAP);
  }
  return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  REAL(sigprocmask);
  return change_mask(real, how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  REAL(pthread_sigmask);
  return change_mask(real, how, set, old);
}

/* ---- processes ---- */

static char record_directory[TRIMTAB_PATH_BYTES];
static char kept_variables[4][TRIMTAB_PATH_BYTES]; /* NAME=value, as this process got them */
static const char *const kept_names[4] = {"LD_AUDIT", "LD_PRELOAD", "TRIMTAB_RECORD",
                                          "TRIMTAB_NATIVE"};

static void after_fork(void) {
  if (trimtab_guard_link.after_fork) trimtab_guard_link.after_fork();
}

__attribute__((constructor)) static void start(void) {
  for (int i = 0; i < 4; i++) {
    const char *value = getenv(kept_names[i]);
    if (value) snprintf(kept_variables[i], TRIMTAB_PATH_BYTES, "%s=%s", kept_names[i], value);
  }
  const char *directory = getenv("TRIMTAB_RECORD");
  if (directory) snprintf(record_directory, sizeof record_directory, "%s", directory);
  pthread_atfork(NULL, NULL, after_fork);
}

/* A child of vfork shares this memory: only the process that the record names may write it. */
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

/* A file named for the process says that it is about to become another program. The reader
 * expects a record of that program, and calls the trace incomplete where there is none. */
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

/* `environment` with the tracer's variables as this process got them. On the stack of the caller:
 * a child of vfork must not allocate. */
static void keep_tracer(char *const environment[], char **kept) {
  int count = 0;
  for (int i = 0; environment && environment[i]; i++) {
    int ours = 0;
    for (int k = 0; k < 4; k++) {
      size_t length = strlen(kept_names[k]);
      ours |= !strncmp(environment[i], kept_names[k], length) && environment[i][length] == '=';
    }
    if (!ours) kept[count++] = environment[i];
  }
  for (int k = 0; k < 4; k++)
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
  char *kept[count_of(environment) + 5];
  keep_tracer(environment, kept);
  REPLACE(path, real(path, arguments, kept));
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[]) {
  REAL(execvpe);
  char *kept[count_of(environment) + 5];
  keep_tracer(environment, kept);
  REPLACE(file, real(file, arguments, kept));
}

EXPORT int fexecve(int file, char *const arguments[], char *const environment[]) {
  REAL(fexecve);
  char path[32], *kept[count_of(environment) + 5];
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
  char *kept[count_of(environment) + 5];
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
