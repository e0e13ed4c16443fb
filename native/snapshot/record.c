/* Records what a start asks of the world, until it does what others can see.
 *
 * A seccomp filter (filter.c) stops the system calls that are no matter of memory alone; a handler of SIGSYS
 * in the process makes them from `recorded_call`, which the filter lets pass, and writes them down. The first
 * call that others can see (visible.c) ends the process before it is made. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "recorded_call.h"

enum { LINE_BYTES = 3 * 4096, FIRST_OWN_FILE = 1000, MOST_OPEN = 256, SIGSYS_BIT = SIGSYS - 1, LAST_SIGNAL = 64 };
enum { LOG_IS_FULL = 3 };

static long log_file = -1;

static uint64_t first_mask; /* the signals that are blocked when recording begins */

__asm__(
    ".text\n"
    ".globl recorded_call_begin, recorded_call, recorded_call_end\n"
    ".hidden recorded_call_begin, recorded_call, recorded_call_end\n"
    "recorded_call_begin:\n"
    "recorded_call:\n\t"
    "movq %rdi, %rax\n\t"
    "movq %rsi, %rdi\n\t"
    "movq %rdx, %rsi\n\t"
    "movq %rcx, %rdx\n\t"
    "movq %r8, %r10\n\t"
    "movq %r9, %r8\n\t"
    "movq 8(%rsp), %r9\n\t"
    "syscall\n\t"
    "ret\n"
    "recorded_call_end:\n");

/* A log that lacks a line would be of another start. */
static void write_line(const char *line, size_t bytes) {
  if (recorded_call(__NR_write, log_file, (long)line, (long)bytes, 0, 0, 0) != (long)bytes)
    recorded_call(__NR_exit_group, LOG_IS_FULL, 0, 0, 0, 0, 0);
}

void note(const char *text) {
  char line[LINE_BYTES];
  int bytes = log_file < 0 ? 0 : snprintf(line, sizeof line, "note %s", text);
  if (bytes > 0) write_line(line, (size_t)bytes < sizeof line ? (size_t)bytes + 1 : sizeof line);
}

void end_record(void) { log_file = -1; }

int has_open_files(void) {
  for (long file = STANDARD_FILES; file < MOST_OPEN; file++)
    if (recorded_call(__NR_fcntl, file, F_GETFD, 0, 0, 0, 0) >= 0) return 1;
  return 0;
}

int has_mask_of_start(void) {
  uint64_t mask = 0;
  recorded_call(__NR_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, sizeof mask, 0, 0);
  return mask == first_mask;
}

/* Do what rt_sigprocmask(2) does when the handler returns, but never block SIGSYS. */
static long change_mask(ucontext_t *context) {
  greg_t *registers = context->uc_mcontext.gregs;
  uint64_t *mask = (uint64_t *)&context->uc_sigmask, before = *mask;
  const uint64_t *set = (const uint64_t *)registers[REG_RSI];
  /* Some ask so whether memory is readable, and expect no answer but an error. */
  long is_readable = recorded_call(__NR_rt_sigprocmask, -1, (long)set, 0, registers[REG_R10], 0, 0);
  if (registers[REG_R10] != sizeof *mask || (set && (is_readable == -EFAULT || registers[REG_RDI] > SIG_SETMASK)))
    return is_readable;
  if (set && registers[REG_RDI] == SIG_BLOCK) *mask |= *set;
  if (set && registers[REG_RDI] == SIG_UNBLOCK) *mask &= ~*set;
  if (set && registers[REG_RDI] == SIG_SETMASK) *mask = *set;
  *mask &= ~(1UL << SIGSYS_BIT);
  if (registers[REG_RDX]) *(uint64_t *)registers[REG_RDX] = before;
  return 0;
}

/* As the kernel has a handler. None may block SIGSYS while it runs. */
struct kernel_action {
  uint64_t handler, flags, restorer, mask;
};

static long change_handler(const greg_t *registers) {
  struct kernel_action action;
  const struct kernel_action *given = (const void *)registers[REG_RSI];
  if (registers[REG_RDI] == SIGSYS) { /* it is ours; none is told of it */
    if (registers[REG_RDX]) memset((void *)registers[REG_RDX], 0, sizeof action);
    return 0;
  }
  if (given) {
    action = *given;
    action.mask &= ~(1UL << SIGSYS_BIT);
  }
  return recorded_call(__NR_rt_sigaction, registers[REG_RDI], (long)(given ? &action : NULL), registers[REG_RDX],
                       registers[REG_R10], 0, 0);
}

static void unblock_in_handlers(void) {
  struct kernel_action action;
  for (long number = 1; number <= LAST_SIGNAL; number++) {
    if (recorded_call(__NR_rt_sigaction, number, 0, (long)&action, 8, 0, 0) || !(action.mask >> SIGSYS_BIT & 1))
      continue;
    action.mask &= ~(1UL << SIGSYS_BIT);
    recorded_call(__NR_rt_sigaction, number, (long)&action, 0, 8, 0, 0);
  }
}

/* End the process before a call that others can see. */
static void end_before(long number, const greg_t *registers) {
  char line[LINE_BYTES];
  int begin = snprintf(line, sizeof line, "harmful %ld %#llx %#llx %#llx ", number, registers[REG_RDI],
                       registers[REG_RSI], registers[REG_RDX]);
  describe(number, registers, -1, line + begin, sizeof line - (size_t)begin);
  write_line(line, strlen(line) + 1);
  recorded_call(__NR_exit_group, 0, 0, 0, 0, 0, 0);
}

static long make_call(long number, const greg_t *registers) {
  char line[LINE_BYTES];
  long result = recorded_call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
                              registers[REG_R8], registers[REG_R9]);
  long third = shape_of(number) == OPEN ? registers[REG_RSI] : registers[REG_RDX];
  remember(number, registers, result);
  int begin = snprintf(line, sizeof line, "call %ld %ld %lld %lld %ld ", number, result, registers[REG_RDI],
                       registers[REG_RSI], third);
  describe(number, registers, result, line + begin, sizeof line - (size_t)begin);
  write_line(line, strlen(line) + 1);
  return result;
}

static void on_call(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  int saved = errno;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  long number = registers[REG_RAX];
  if (is_visible(number, registers)) end_before(number, registers);
  if (shape_of(number) == MASK) registers[REG_RAX] = change_mask(context);
  else if (shape_of(number) == HANDLER) registers[REG_RAX] = change_handler(registers);
  else registers[REG_RAX] = make_call(number, registers);
  errno = saved;
}

const char *record_calls(const char *path) {
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return "the log cannot be written";
  log_file = fcntl(file, F_DUPFD_CLOEXEC, FIRST_OWN_FILE);
  close(file);
  sigemptyset(&action.sa_mask);
  if (log_file < 0 || sigaction(SIGSYS, &action, NULL)) return "SIGSYS cannot be handled";
  unblock_in_handlers();
  remember_processors();
  recorded_call(__NR_rt_sigprocmask, SIG_BLOCK, 0, (long)&first_mask, sizeof first_mask, 0, 0);
  if (!stop_clocks()) return "the vdso cannot be changed";
  if (!install_filter()) return "seccomp is not to be had here";
  return NULL;
}
