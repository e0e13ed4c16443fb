/* The Python module by which a program's start is recorded, and saved as a snapshot. Its users are
 * src/trimtab/debloating/snapshots/inside_program, with src/trimtab/debloating/snapshots/watching and
 * src/trimtab/debloating/snapshots/renewing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../python_module/methods.h"
#include "machine.h"
#include "record.h"
#include "recorded_call.h"
#include "save.h"

/* Python's limited API. */
extern void *PyUnicode_FromString(const char *text), *PyUnicode_DecodeFSDefault(const char *text);
extern void *PyList_New(long count), *PyBytes_FromStringAndSize(const char *from, long bytes);
extern int PyList_Append(void *list, void *item), PyArg_ParseTuple(void *arguments, const char *format, ...);
extern void *PyTuple_Pack(long count, ...), *PyLong_FromUnsignedLong(unsigned long number);
extern void *PyBool_FromLong(long truth);
extern void Py_IncRef(void *object), Py_DecRef(void *object);
extern char _Py_NoneStruct[] __attribute__((weak)); /* a shell may load this library, before its Python */

enum { NAME_BYTES = 32, PATIENCE = 10000, IS_DONE = 7 };

/* A thread that goes on in the child of a fork, as its library starts it anew. */
static const char survives_forks[] = "jemalloc_bg_thd";

static char other_thread[NAME_BYTES]; /* of the process when it was forked */

static int find_other_thread(void) {
  char buffer[4096], path[64];
  int found = 0;
  long folder = syscall(SYS_open, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), bytes;
  while (folder >= 0 && (bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < bytes; at += *(unsigned short *)(buffer + at + 16)) {
      const char *name = buffer + at + 19;
      char thread[NAME_BYTES] = "?";
      if (*name == '.' || atol(name) == getpid()) continue;
      snprintf(path, sizeof path, "/proc/self/task/%s/comm", name);
      int file = open(path, O_RDONLY | O_CLOEXEC);
      long length = file < 0 ? 0 : read(file, thread, sizeof thread - 1);
      if (file < 0) continue; /* it has just ended */
      close(file);
      thread[length > 0 ? length - 1 : 0] = 0;
      if (!strcmp(thread, survives_forks)) continue;
      memcpy(other_thread, thread, sizeof thread);
      found = 1;
    }
  if (folder >= 0) close((int)folder);
  return found;
}

/* Runs after the preparations of all libraries, as it is registered before theirs. A thread that was
 * joined may still be on its way out. */
static void before_fork(void) {
  for (int i = 0; i < PATIENCE && find_other_thread(); i++) sched_yield();
  if (!find_other_thread()) other_thread[0] = 0;
}

static void *none(void) {
  Py_IncRef(_Py_NoneStruct);
  return _Py_NoneStruct;
}

static void *text_or_none(const char *text) { return text ? PyUnicode_FromString(text) : none(); }

/* Copies of the variables as they were when recording began, and when it ended. */
static char **variables_before, **variables_after;

static char **copy_of(char **variables) {
  size_t count = 0;
  while (variables[count]) count++;
  char **copy = calloc(count + 1, sizeof *copy);
  for (size_t i = 0; copy && i < count; i++) copy[i] = strdup(variables[i]);
  return copy;
}

/* record(path): None, or why the calls cannot be recorded. */
static void *record(void *self, void *arguments) {
  const char *path;
  (void)self;
  if (!PyArg_ParseTuple(arguments, "y", &path)) return NULL;
  pthread_atfork(before_fork, NULL, NULL);
  variables_before = copy_of(environ);
  return text_or_none(record_calls(path));
}

static void *add_note(void *self, void *arguments) {
  const char *text;
  (void)self;
  if (!PyArg_ParseTuple(arguments, "y", &text)) return NULL;
  note(text);
  return none();
}

static void *list_of(char **texts) {
  void *list = PyList_New(0);
  for (; list && *texts; texts++) {
    void *text = PyBytes_FromStringAndSize(*texts, (long)strlen(*texts));
    if (!text || PyList_Append(list, text)) return NULL;
    Py_DecRef(text);
  }
  return list;
}

/* Make the C library go on in a process that is not its own: where its heap may grow, and how large
 * stacks of new threads are. */
static void tell_library(void **heap_end, char **variables) {
  struct rlimit limit;
  pthread_attr_t attributes;
  *heap_end = (void *)syscall(SYS_brk, 0);
  environ = variables;
  if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY && !pthread_attr_init(&attributes)) {
    if (!pthread_attr_setstacksize(&attributes, limit.rlim_cur)) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
}

static const char *find(char **variables, const char *text, size_t bytes) {
  for (; *variables; variables++)
    if (!strncmp(*variables, text, bytes) && (*variables)[bytes] == '=') return *variables;
  return NULL;
}

/* Set the variable "NAME=VALUE", or unset it. */
static void change(const char *text, int is_set) {
  size_t bytes = strcspn(text, "=");
  char *name = strndup(text, bytes);
  if (name && is_set && text[bytes]) setenv(name, text + bytes + 1, 1);
  if (name && !is_set) unsetenv(name);
  free(name);
}

/* Change this process's variables as the start changed its own. */
static void change_variables(char **before, char **after) {
  for (char **each = after; *each; each++) {
    const char *old = find(before, *each, strcspn(*each, "="));
    if (!old || strcmp(old, *each)) change(*each, 1);
  }
  for (char **each = before; *each; each++)
    if (!find(after, *each, strcspn(*each, "="))) change(*each, 0);
}

/* save(path): why this process is not saved, or None when it is; in each process that goes on from the
 * snapshot, its arguments and variables. A child is what is saved: libraries with threads end them for
 * that, and start them in the child when they need them. */
static void *save(void *self, void *arguments) {
  const char *path, *why;
  void **heap_end = dlsym(NULL, "__curbrk");
  long *stack;
  int status = 0;
  (void)self;
  if (!PyArg_ParseTuple(arguments, "y", &path)) return NULL;
  variables_after = copy_of(environ);
  if (!heap_end || !variables_before || !variables_after) return PyUnicode_FromString("this C library is not known");
  if (!has_first_processors()) return PyUnicode_FromString("it chose other processors");
  if (!has_mask_of_start()) return PyUnicode_FromString("it blocks signals");
  if (has_unforked()) return PyUnicode_FromString("it has memory that its children lack");
  fflush(NULL);
  allow_fork();
  pid_t child = fork();
  if (child < 0) return PyUnicode_FromString("it cannot fork");
  if (child) {
    waitpid(child, &status, 0);
    int is_done = WIFEXITED(status) && WEXITSTATUS(status) == IS_DONE;
    return is_done ? none() : PyUnicode_FromString("it ends in a forked child");
  }
  if (other_thread[0]) return PyUnicode_FromString(other_thread);
  why = save_process(path, &stack);
  if (why) return PyUnicode_FromString(why);
  if (!stack) _exit(IS_DONE);
  char **words = (char **)(stack + 1), **variables = words + stack[0] + 1;
  end_record();
  tell_library(heap_end, variables);
  change_variables(variables_before, variables_after);
  void *new_words = list_of(words), *new_variables = list_of(environ);
  return new_words && new_variables ? PyTuple_Pack(2, new_words, new_variables) : NULL;
}

/* signals(): those that are ignored, and those that are blocked, as masks. */
static void *signals(void *self, void *nothing) {
  unsigned long ignored = 0, blocked = 0;
  sigset_t mask;
  (void)self, (void)nothing;
  for (int number = 1; number < 32; number++) {
    struct sigaction action;
    if (number != SIGPIPE && number != SIGXFSZ && !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN)
      ignored |= 1UL << number;
  }
  if (!sigprocmask(SIG_BLOCK, NULL, &mask)) memcpy(&blocked, &mask, sizeof blocked);
  return PyTuple_Pack(2, PyLong_FromUnsignedLong(ignored), PyLong_FromUnsignedLong(blocked));
}

/* is_plain(): whether the process has no open files but the standard streams, and nothing left to write. */
static void *is_plain(void *self, void *nothing) {
  (void)self, (void)nothing;
  fflush(NULL);
  return PyBool_FromLong(!has_open_files());
}

/* machine(): what a snapshot asks of the processor and the kernel, as 32 hexadecimal digits. */
static void *machine(void *self, void *nothing) {
  char digits[MACHINE_BYTES * 2 + 1];
  uint8_t of_machine[MACHINE_BYTES];
  (void)self, (void)nothing;
  uint64_t digests[2] = {processor_digest(), vdso_digest((const uint64_t *)getauxval(AT_SYSINFO_EHDR))};
  memcpy(of_machine, digests, sizeof of_machine);
  for (int i = 0; i < MACHINE_BYTES; i++) snprintf(digits + 2 * i, 3, "%02x", of_machine[i]);
  return PyUnicode_FromString(digits);
}

const struct method python_methods[] = {{"record", record, SEVERAL_ARGUMENTS, NULL},
                                        {"note", add_note, SEVERAL_ARGUMENTS, NULL},
                                        {"save", save, SEVERAL_ARGUMENTS, NULL},
                                        {"signals", signals, NO_ARGUMENTS, NULL},
                                        {"is_plain", is_plain, NO_ARGUMENTS, NULL},
                                        {"machine", machine, NO_ARGUMENTS, NULL},
                                        {NULL, NULL, 0, NULL}};

/* Variables that programs' libraries ask for: this library is loaded before the C library. */
__attribute__((visibility("default"))) char *getenv(const char *name) {
  char text[256];
  size_t bytes = strlen(name);
  if (bytes < sizeof text - 5) {
    memcpy(text, "asks ", 5);
    memcpy(text + 5, name, bytes + 1);
    note(text);
  }
  for (char **each = environ; each && *each; each++)
    if (!strncmp(*each, name, bytes) && (*each)[bytes] == '=') return *each + bytes + 1;
  return NULL;
}

__attribute__((visibility("default"))) char *secure_getenv(const char *name) { return getenv(name); }
