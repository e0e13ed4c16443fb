/* The filter that stops system calls. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "recorded_call.h"

/* Calls that concern the process's memory, threads, signals and open files alone. */
static const int silent[] = {
    __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap, __NR_madvise, __NR_brk, __NR_futex, __NR_rt_sigreturn,
    __NR_sigaltstack, __NR_sched_yield, __NR_exit, __NR_exit_group, __NR_set_robust_list, __NR_get_robust_list,
    __NR_rseq, __NR_arch_prctl, __NR_nanosleep, __NR_clock_nanosleep, __NR_restart_syscall, __NR_mincore,
    __NR_set_tid_address};
/* Those, unless they are for a standard stream. */
static const int of_files[] = {__NR_read, __NR_pread64, __NR_readv, __NR_preadv, __NR_close, __NR_lseek, __NR_fstat};

/* A filter that is being written: the jumps to its end are known at the end. */
struct filter {
  struct sock_filter code[128];
  unsigned short count;
};

static void load(struct filter *filter, size_t offset) {
  filter->code[filter->count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static void skip(struct filter *filter, int test, uint64_t value, uint8_t if_true, uint8_t if_false) {
  filter->code[filter->count++] =
      (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | test | BPF_K), (uint32_t)value, if_true, if_false);
}

static void answer(struct filter *filter, uint32_t action) {
  filter->code[filter->count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

static void pass_own_calls(struct filter *filter) {
  uint64_t begin = (uint64_t)recorded_call_begin, end = (uint64_t)recorded_call_end;
  load(filter, offsetof(struct seccomp_data, instruction_pointer) + 4);
  skip(filter, BPF_JEQ, begin >> 32, 0, 4);
  load(filter, offsetof(struct seccomp_data, instruction_pointer));
  skip(filter, BPF_JGE, begin, 0, 2);
  skip(filter, BPF_JGT, end, 1, 0);
  answer(filter, SECCOMP_RET_ALLOW);
}

int install_filter(void) {
  struct filter filter = {{{0, 0, 0, 0}}, 0};
  pass_own_calls(&filter);
  load(&filter, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
    skip(&filter, BPF_JEQ, (uint64_t)silent[i], 0, 1);
    answer(&filter, SECCOMP_RET_ALLOW);
  }
  /* The C library goes back to clone(2), of which the flags are in a register. */
  skip(&filter, BPF_JEQ, __NR_clone3, 0, 1);
  answer(&filter, SECCOMP_RET_ERRNO | ENOSYS);
  skip(&filter, BPF_JEQ, __NR_clone, 0, 4);
  load(&filter, offsetof(struct seccomp_data, args[0]));
  skip(&filter, BPF_JSET, CLONE_THREAD, 0, 1);
  answer(&filter, SECCOMP_RET_ALLOW);
  answer(&filter, SECCOMP_RET_TRAP);
  for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++) {
    skip(&filter, BPF_JEQ, (uint64_t)of_files[i], 0, 4);
    load(&filter, offsetof(struct seccomp_data, args[0]));
    skip(&filter, BPF_JGE, STANDARD_FILES, 0, 1);
    answer(&filter, SECCOMP_RET_ALLOW);
    answer(&filter, SECCOMP_RET_TRAP);
  }
  answer(&filter, SECCOMP_RET_TRAP);
  struct sock_fprog program = {filter.count, filter.code};
  return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
