/* Records what a start asks of the world, until it does what other processes could see.
 *
 * A seccomp filter stops the system calls that are no matter of memory alone; a handler of SIGSYS in the
 * process makes them from `recorded_call`, which the filter lets pass, and writes them down. The functions
 * of the vdso that read clocks become system calls. The first call that changes anything ends the process
 * before it is made. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <ucontext.h>
#include <unistd.h>

#include "record.h"

enum { LINE_BYTES = 3 * 4096, LINK_BYTES = 64, MASK_BYTES = 128, FIRST_OWN_FILE = 1000, SIGSYS_BIT = SIGSYS - 1, LAST_SIGNAL = 64 };

static long log_file = -1;

/* kernel(number, ...) at a known place. */
extern long recorded_call(long number, long a, long b, long c, long d, long e, long f);
extern const char recorded_call_begin[], recorded_call_end[];
__asm__(
    ".text\n"
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

/* What a call gets besides its path; and calls that are no matter of memory, but change nothing. */
enum shape { HARMFUL, PLAIN, PATH, PATH_AT, OWN_FILE, OPEN, OPEN_AT, FOLDER, QUERY, CONTROL, LIMITS, AFFINITY, MACHINE, WORKING, MASK, SET_AFFINITY, BIND, OPEN_AT2, HANDLER };

static const uint8_t shapes[512] = {
    [__NR_stat] = PATH, [__NR_lstat] = PATH, [__NR_access] = PATH, [__NR_readlink] = PATH, [__NR_statfs] = PATH,
    [__NR_getxattr] = PATH, [__NR_lgetxattr] = PATH,
    [__NR_newfstatat] = PATH_AT, [__NR_statx] = PATH_AT, [__NR_faccessat] = PATH_AT, [__NR_faccessat2] = PATH_AT,
    [__NR_readlinkat] = PATH_AT, [__NR_open] = OPEN, [__NR_openat] = OPEN_AT, [__NR_getdents64] = FOLDER,
    [__NR_getrandom] = PLAIN, [__NR_clock_gettime] = PLAIN, [__NR_gettimeofday] = PLAIN, [__NR_time] = PLAIN,
    [__NR_getpid] = PLAIN, [__NR_getppid] = PLAIN, [__NR_gettid] = PLAIN, [__NR_getuid] = PLAIN, [__NR_geteuid] = PLAIN,
    [__NR_getgid] = PLAIN, [__NR_getegid] = PLAIN, [__NR_getresuid] = PLAIN, [__NR_getresgid] = PLAIN,
    [__NR_getgroups] = PLAIN, [__NR_sysinfo] = PLAIN, [__NR_clock_getres] = PLAIN, [__NR_getrusage] = PLAIN,
    [__NR_times] = PLAIN, [__NR_getpriority] = PLAIN, [__NR_sched_getscheduler] = PLAIN, [__NR_sched_getparam] = PLAIN,
    [__NR_sched_get_priority_max] = PLAIN, [__NR_sched_get_priority_min] = PLAIN, [__NR_get_mempolicy] = PLAIN,
    [__NR_getcpu] = PLAIN, [__NR_epoll_create1] = PLAIN, [__NR_epoll_create] = PLAIN, [__NR_eventfd2] = PLAIN,
    [__NR_socket] = PLAIN, [__NR_link] = PATH, [__NR_unlink] = PATH, [__NR_unlinkat] = PATH_AT,
    [__NR_write] = OWN_FILE, [__NR_pwrite64] = OWN_FILE, [__NR_ftruncate] = OWN_FILE, [__NR_fchmod] = OWN_FILE, [__NR_prctl] = PLAIN, [__NR_rt_sigprocmask] = MASK, [__NR_rt_sigaction] = HANDLER, [__NR_fstatfs] = PLAIN, [__NR_fadvise64] = PLAIN, [__NR_dup] = PLAIN,
    [__NR_fcntl] = CONTROL, [__NR_ioctl] = QUERY, [__NR_prlimit64] = LIMITS, [__NR_getrlimit] = PLAIN,
    [__NR_sched_getaffinity] = AFFINITY, [__NR_sched_setaffinity] = SET_AFFINITY, [__NR_wait4] = PLAIN, [__NR_setsockopt] = PLAIN,
    [__NR_bind] = BIND, [__NR_openat2] = OPEN_AT2, [__NR_uname] = MACHINE, [__NR_getcwd] = WORKING,
};

static void write_line(const char *line, size_t bytes) {
  recorded_call(__NR_write, log_file, (long)line, (long)bytes, 0, 0, 0);
}

void note(const char *text) {
  char line[LINE_BYTES];
  int bytes = log_file < 0 ? 0 : snprintf(line, sizeof line, "note %s", text);
  if (bytes > 0 && (size_t)bytes < sizeof line) write_line(line, (size_t)bytes + 1);
}

/* Write the path of an open file. */
static void path_of_file(long file, char *to, size_t room) {
  char link[LINK_BYTES];
  snprintf(link, sizeof link, "/proc/self/fd/%ld", file);
  long bytes = recorded_call(__NR_readlink, (long)link, (long)to, (long)room - 1, 0, 0, 0);
  to[bytes > 0 ? bytes : 0] = 0;
}

static void path_at(long folder, const char *path, char *to, size_t room) {
  size_t used = 0;
  if (path && path[0] != '/' && (int)folder != AT_FDCWD) {
    path_of_file((int)folder, to, room);
    used = strlen(to);
    if (path[0] && used + 1 < room) to[used++] = '/';
  }
  snprintf(to + used, room - used, "%s", path ? path : "");
}

enum { NEW = O_CREAT | O_EXCL };
static uint8_t is_new[1024]; /* open files that this process made */

/* What the fallbacks write when something was missed is ours, and nothing that the program does. */
static int is_record(const char *path) {
  static const char record[] = "/trimtab/fallback.jsonl";
  size_t bytes = path ? strlen(path) : 0;
  return bytes >= sizeof record - 1 && !strcmp(path + bytes - (sizeof record - 1), record);
}

static int only_reads(long flags) {
  if ((flags & NEW) == NEW) return 1;
  return (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)));
}

/* Libraries for several threads set their first thread's processors and set them back: at the end they have
 * to be those of the beginning. */
static uint8_t first_processors[MASK_BYTES];

static void get_processors(uint8_t to[MASK_BYTES]) {
  memset(to, 0, MASK_BYTES);
  recorded_call(__NR_sched_getaffinity, 0, MASK_BYTES, (long)to, 0, 0, 0);
}

int has_first_processors(void) {
  uint8_t now[MASK_BYTES];
  get_processors(now);
  return !memcmp(now, first_processors, MASK_BYTES);
}

static int is_harmful(long number, const greg_t *registers) {
  long first = registers[REG_RDI], second = registers[REG_RSI], third = registers[REG_RDX];
  switch (number >= 0 && number < 512 ? shapes[number] : HARMFUL) {
    case HARMFUL: return 1;
    case OPEN: return !only_reads(second);
    case OPEN_AT: return !only_reads(third) && !is_record((const char *)second);
    case OPEN_AT2: return !only_reads(*(const long *)third); /* struct open_how */
    case QUERY: return second != TCGETS && second != TIOCGWINSZ && second != FIOCLEX && second != FIONCLEX;
    case CONTROL: return second != F_GETFD && second != F_SETFD && second != F_GETFL && second != F_DUPFD_CLOEXEC;
    case OWN_FILE: return first < 3 || first >= (long)sizeof is_new || !is_new[first];
    case LIMITS: return third != 0;
    case BIND: return ((const uint16_t *)second)[1] != 0; /* a port that is chosen: whether IPv6 is to be had */
    case SET_AFFINITY: return first != 0;
    default: return 0;
  }
}

/* What the log says besides numbers. */
static void describe(long number, const greg_t *registers, long result, char *to, size_t room) {
  long first = registers[REG_RDI], second = registers[REG_RSI];
  to[0] = 0;
  switch (shapes[number]) {
    case PATH:
    case OPEN: path_at(AT_FDCWD, (const char *)first, to, room); break;
    case PATH_AT:
    case OPEN_AT2:
    case OPEN_AT: path_at(first, (const char *)second, to, room); break;
    case FOLDER: path_of_file(first, to, room); break;
    case WORKING: snprintf(to, room, "%s", result > 0 ? (const char *)first : ""); break;
    case MACHINE: snprintf(to, room, "%s", ((const struct utsname *)first)->nodename); break;
    case AFFINITY:
      for (long i = 0; i < result && i < MASK_BYTES; i++)
        snprintf(to + 2 * i, room - 2 * (size_t)i, "%02x", ((const uint8_t *)registers[REG_RDX])[i]);
      break;
    default: break;
  }
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
  if (given) {
    if (registers[REG_RDI] == SIGSYS) return 0; /* this one stays */
    action = *given;
    action.mask &= ~(1UL << SIGSYS_BIT);
  }
  return recorded_call(__NR_rt_sigaction, registers[REG_RDI], (long)(given ? &action : NULL), registers[REG_RDX],
                       registers[REG_R10], 0, 0);
}

static void unblock_in_handlers(void) {
  struct kernel_action action;
  for (long number = 1; number <= LAST_SIGNAL; number++) {
    if (recorded_call(__NR_rt_sigaction, number, 0, (long)&action, 8, 0, 0) || !(action.mask >> SIGSYS_BIT & 1)) continue;
    action.mask &= ~(1UL << SIGSYS_BIT);
    recorded_call(__NR_rt_sigaction, number, (long)&action, 0, 8, 0, 0);
  }
}

static void on_call(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  int saved = errno;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  long number = registers[REG_RAX];
  char line[LINE_BYTES];
  int begin;
  if (number == __NR_rt_sigprocmask) {
    registers[REG_RAX] = change_mask(context);
    return;
  }
  if (number == __NR_rt_sigaction) {
    registers[REG_RAX] = change_handler(registers);
    return;
  }
  if (is_harmful(number, registers)) {
    begin = snprintf(line, sizeof line, "harmful %ld %#llx %#llx %#llx ", number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX]);
    describe(number, registers, -1, line + begin, sizeof line - (size_t)begin);
    begin = (int)strlen(line);
    write_line(line, (size_t)begin + 1);
    recorded_call(__NR_exit_group, 0, 0, 0, 0, 0, 0);
  }
  long result = recorded_call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
                              registers[REG_R8], registers[REG_R9]);
  long flags = shapes[number] == OPEN ? registers[REG_RSI] : registers[REG_RDX];
  if ((shapes[number] == OPEN || shapes[number] == OPEN_AT) && result >= 0 && result < (long)sizeof is_new)
    is_new[result] = (flags & NEW) == NEW || is_record((const char *)registers[shapes[number] == OPEN ? REG_RDI : REG_RSI]);
  begin = snprintf(line, sizeof line, "call %ld %ld %lld %lld %ld ", number, result, registers[REG_RDI], registers[REG_RSI], flags);
  describe(number, registers, result, line + begin, sizeof line - (size_t)begin);
  write_line(line, strlen(line) + 1);
  registers[REG_RAX] = result;
  errno = saved;
}

/* Calls that concern the process's memory, threads, signals and open files alone. */
static const int silent[] = {
    __NR_pread64, __NR_close, __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap, __NR_madvise, __NR_brk, __NR_lseek,
    __NR_fstat, __NR_futex, __NR_rt_sigreturn, __NR_sigaltstack,
    __NR_sched_yield, __NR_clone, __NR_clone3, __NR_fork, __NR_vfork, __NR_exit, __NR_exit_group, __NR_set_robust_list,
    __NR_rseq, __NR_arch_prctl, __NR_nanosleep, __NR_clock_nanosleep, __NR_readv, __NR_preadv, __NR_restart_syscall,
    __NR_get_robust_list, __NR_membarrier, __NR_mincore, __NR_set_tid_address, __NR_munlock, __NR_mlock, __NR_mbind, __NR_set_mempolicy,
};

static int install_filter(void) {
  enum { SILENT = sizeof silent / sizeof *silent };
  uint64_t begin = (uint64_t)recorded_call_begin, end = (uint64_t)recorded_call_end;
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
  struct sock_filter filter[SILENT + 16];
  size_t n = 0;
  struct sock_filter head[] = {
      LOAD_HIGH(instruction_pointer),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(begin >> 32), 0, 3),
      LOAD(instruction_pointer),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)begin, 0, 1),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)end, 0, SILENT + 5),
      LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_read, 0, 2),
      LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, SILENT + 0, SILENT + 1),
  };
  memcpy(filter, head, sizeof head), n = sizeof head / sizeof *head;
  for (size_t i = 0; i < SILENT; i++)
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)silent[i], (uint8_t)(SILENT - i), 0);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)n, filter};
  return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Make a function of the vdso `mov $number, %eax; syscall; ret`. */
static void make_call(uint8_t *function, uint32_t number) {
  function[0] = 0xb8;
  memcpy(function + 1, &number, sizeof number);
  memcpy(function + 5, "\x0f\x05\xc3", 3);
}

static int stop_clocks(void) {
  static const struct { const char *name; uint32_t number; } clocks[] = {
      {"__vdso_clock_gettime", __NR_clock_gettime}, {"__vdso_gettimeofday", __NR_gettimeofday}, {"__vdso_time", __NR_time}};
  uint8_t *vdso = (uint8_t *)getauxval(AT_SYSINFO_EHDR);
  if (!vdso) return 1;
  const Elf64_Ehdr *header = (const void *)vdso;
  const Elf64_Phdr *parts = (const void *)(vdso + header->e_phoff);
  const Elf64_Sym *symbols = NULL;
  const char *names = NULL;
  const uint32_t *hash = NULL;
  uint64_t bytes = 0;
  for (int i = 0; i < header->e_phnum; i++) {
    if (parts[i].p_type == PT_LOAD) bytes = parts[i].p_memsz;
    if (parts[i].p_type != PT_DYNAMIC) continue;
    for (const Elf64_Dyn *each = (const void *)(vdso + parts[i].p_offset); each->d_tag; each++) {
      if (each->d_tag == DT_SYMTAB) symbols = (const void *)(vdso + each->d_un.d_ptr);
      if (each->d_tag == DT_STRTAB) names = (const void *)(vdso + each->d_un.d_ptr);
      if (each->d_tag == DT_HASH) hash = (const void *)(vdso + each->d_un.d_ptr);
    }
  }
  /* Newer ones have DT_GNU_HASH alone; the symbols end where the names begin. */
  size_t count = hash ? hash[1] : symbols && names ? (size_t)((const uint8_t *)names - (const uint8_t *)symbols) / sizeof *symbols : 0;
  if (!count || mprotect(vdso, (bytes + 4095) & ~4095UL, PROT_READ | PROT_WRITE | PROT_EXEC)) return 0;
  for (size_t i = 0; i < count; i++)
    for (size_t clock = 0; clock < sizeof clocks / sizeof *clocks; clock++)
      if (!strcmp(names + symbols[i].st_name, clocks[clock].name)) make_call(vdso + symbols[i].st_value, clocks[clock].number);
  return 1;
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
  get_processors(first_processors);
  if (!stop_clocks()) return "the vdso cannot be changed";
  if (!install_filter()) return "seccomp is not to be had here";
  return NULL;
}
