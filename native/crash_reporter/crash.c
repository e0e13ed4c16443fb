/* A preloaded library that reports where a program crashed: the signal, the library and the address
 * in it. It is used in one more run after a slim environment has failed, never in a measured
 * one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

struct place {
  ElfW(Addr) address, in_object;
  const char *path;
};

/* Compare with the span of an object's segments, holes included: removed code lies in a hole. */
static int find_object(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct place *place = data;
  ElfW(Addr) low = (ElfW(Addr))-1, high = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD) continue;
    if (header->p_vaddr < low) low = header->p_vaddr;
    if (header->p_vaddr + header->p_memsz > high) high = header->p_vaddr + header->p_memsz;
  }
  ElfW(Addr) address = place->address - info->dlpi_addr;
  if (place->address < info->dlpi_addr + low || address >= high) return 0;
  place->in_object = address;
  place->path = info->dlpi_name;
  return 1;
}

static void on_crash(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  ElfW(Addr) at = (ElfW(Addr))registers[REG_RIP] - (number == SIGTRAP ? 1 : 0);
  struct place place = {at, at, ""};
  dl_iterate_phdr(find_object, &place);
  char line[4400];
  int length = snprintf(line, sizeof line, "%d\t%d\t%lx\t%lx\t%s\n", (int)getpid(), number,
                        (unsigned long)place.in_object, (unsigned long)info->si_addr, place.path);
  int file = open(getenv("TRIMTAB_CRASH"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file >= 0 && write(file, line, (size_t)length) == length) close(file);
  /* The default action follows when the instruction is retried. */
  signal(number, SIG_DFL);
  if (number == SIGTRAP) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
}

__attribute__((constructor)) static void start(void) {
  static char stack[65536]; /* a stack overflow is a crash too */
  if (!getenv("TRIMTAB_CRASH")) return;
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&other, NULL);
  struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  static const int signals[] = {SIGTRAP, SIGSEGV, SIGILL, SIGBUS, SIGFPE};
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, NULL);
}
