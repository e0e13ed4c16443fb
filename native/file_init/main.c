/* trimtab-init COMMAND ARGUMENTS...
 * trimtab-init --called NAME FILE ARGUMENTS...
 *
 * Runs a program of a slim root, and restores the removed files that it and its descendants ask
 * for. The library ../file_fallback does so inside programs of glibc. This program serves programs
 * that do not load it, by questions from the kernel (seccomp_unotify(2)). It ends as the program
 * does. It lies in the root as INIT_PROGRAM, beside the index, and needs no other file of the
 * root. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <poll.h>
#include <sys/prctl.h>

#include "../file_fallback/contents.h"
#include "../file_fallback/init.h"
#include "../file_fallback/place.h"
#include "../file_fallback/record.h"
#include "asker.h"
#include "launch.h"
#include "processes.h"
#include "serve.h"

enum { FIRST_PROCESS = 1, USAGE = 125, LAST_WITHOUT_RANGE = 1023 };

typedef void function(int, char **, char **);
extern function *__init_array_start[], *__init_array_end[], *__fini_array_start[], *__fini_array_end[];

static void finish(void) {
  for (function **each = __fini_array_start; each < __fini_array_end; each++) (*each)(0, NULL, NULL);
}

/* No served program continues without a missed file. */
void end_program(void) {
  end_all();
  for (;;) KERNEL(__NR_exit_group, STATUS_REMOVED, 0, 0, 0);
}

static void close_range_of(unsigned from, unsigned to) {
  if (from > to || !KERNEL(__NR_close_range, from, to, 0, 0)) return;
  for (; from <= to && from <= LAST_WITHOUT_RANGE; from++) close_file(from);
}

/* Hold no pipe or connection open: its other end must wait for the program only. An unwritable
 * descriptor replaces closed streams. */
static void leave_descriptors(long listener, long last_stream) {
  long nothing = open_path(AT_FDCWD, "/", O_PATH, 0);
  for (long stream = 0; stream <= last_stream; stream++) KERNEL(__NR_dup2, nothing, stream, 0, 0);
  if (listener < 0) close_range_of(3, ~0u);
  else {
    close_range_of(3, (unsigned)listener - 1);
    close_range_of((unsigned)listener + 1, ~0u);
  }
}

/* Serve until the program has ended; returns its status. */
static int serve_program(long program, long listener) {
  int status = 0;
  long signals = open_signals();
  struct pollfd sources[] = {{(int)signals, POLLIN, 0}, {(int)listener, POLLIN, 0}};
  /* It may have ended before its signal was requested. */
  for (sources[0].revents = POLLIN;;) {
    if (sources[0].revents && take_signals(signals, program, &status)) return status;
    if (sources[1].revents & POLLIN) serve(listener);
    else if (sources[1].revents) sources[1].fd = -1; /* no process is left that could ask */
    while (KERNEL(__NR_poll, sources, 2, -1, 0) < 0) continue;
  }
}

/* A separate process serves processes that outlive the program, and ends with the last of them. */
static void serve_others(long listener) {
  struct pollfd source = {(int)listener, POLLIN, 0};
  if (listener < 0) return;
  KERNEL(__NR_poll, &source, 1, 0, 0);
  if (source.revents & ~POLLIN || KERNEL(__NR_getpid, 0, 0, 0, 0) == FIRST_PROCESS) return;
  if (kernel(__NR_clone, 0, 0, 0, 0, 0, 0)) return;
  KERNEL(__NR_setsid, 0, 0, 0, 0);
  leave_descriptors(listener, 2);
  for (;;) {
    if (KERNEL(__NR_poll, &source, 1, -1, 0) < 0) continue;
    if (!(source.revents & POLLIN)) break;
    serve(listener);
  }
  finish();
  for (;;) KERNEL(__NR_exit_group, 0, 0, 0, 0);
}

static const char *own_path(char **variables) {
  while (*variables) variables++;
  for (const unsigned long *pair = (unsigned long *)(variables + 1); *pair != AT_NULL; pair += 2)
    if (*pair == AT_EXECFN) return (const char *)pair[1];
  return "/" INIT_PROGRAM;
}

__attribute__((noreturn, used)) static void run(long *stack) {
  int count = (int)stack[0];
  char **words = (char **)(stack + 1), **variables = words + count + 1;
  const char *called = NULL;
  for (function **each = __init_array_start; each < __init_array_end; each++) (*each)(count, words, variables);
  int status = USAGE << 8, first = 1;
  if (count > 3 && is_same(words[1], INIT_CALLED)) called = words[2], first = 3;
  if (count <= first) {
    say("usage: trimtab-init COMMAND ARGUMENTS...", "", "", "", "");
    end_as(status);
  }
  if (is_below_init()) become(words + first, called, variables);
  find_environment(own_path(variables), variables);
  int must_be_served = is_in_environment && start_record(variables);
  if (is_in_environment) look_at_original(variables);
  if (is_in_environment && !called) become_served(words + first, variables);
  unsigned long before = hold_signals();
  KERNEL(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
  long listener = -1, program = launch(words + first, called, variables, before, must_be_served, &listener);
  if (program < 0) give_up("no process can be started for ", words[first], "", "", "");
  if (listener < 0)
    say("what was removed does not come back for this program: the kernel lets nobody ask for it (",
        listener == -EBUSY ? "another program watches its calls" : "no seccomp with SECCOMP_FILTER_FLAG_NEW_LISTENER",
        "); Linux 5.9 or newer is needed, and an engine that allows it", "", "");
  else if (!is_proc_ours())
    say("/proc is not mounted, or another's: what was removed is not found by paths that begin in a folder, and "
        "not listed", "", "", "", "");
  leave_descriptors(listener, 1);
  KERNEL(__NR_chdir, "/", 0, 0, 0);
  status = serve_program(program, listener);
  serve_others(listener);
  finish();
  end_as(status);
}

__asm__(".globl _start\n"
        "_start:\n\t"
        "xor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall run\n");
