/* SIGTRAP and SIGSEGV: our handler runs first, then the program's. Programs that install their own
 * handlers (faulthandler, data loader workers) or block these signals must not disable ours. Python
 * was bound to the C library long before this library is loaded. So the C library's functions for
 * both are made to jump here. */
#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../own_library/symbols.h"
#include "../signal_stacks/alternate_stack.h"
#include "../signal_stacks/handlers.h"
#include "../signal_stacks/threads.h"
#include "events.h"
#include "lock.h"
#include "put_back.h"
#include "redirect.h"

#define BIT(number) (1ul << ((number)-1))
enum {
  SA_RESTORER_FLAG = 0x04000000,
  FIRST_INTERNAL = 32,
  LAST_INTERNAL = 33,
  WRITING = 2 /* of a page fault's error code */
};
static const unsigned long ours = BIT(SIGTRAP) | BIT(SIGSEGV);

static struct sigaction trap_action, fault_action; /* the program's */

static struct sigaction *program_action(int number) {
  return number == SIGTRAP ? &trap_action : &fault_action;
}

static void die_of(int number, int synchronous) {
  struct kernel_action action = {0}; /* SIG_DFL */
  syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask);
  /* A fault occurs again when the instruction is retried; other signals are sent again. */
  if (number != SIGSEGV || !synchronous)
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* Returns a handler to call where the signal interrupted the program. */
static handler_function *pass_on(int number, siginfo_t *info, ucontext_t *context, int synchronous) {
  struct sigaction action = *program_action(number);
  if (action.sa_handler == SIG_IGN && !synchronous) return NULL;
  if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) {
    die_of(number, synchronous);
    return NULL;
  }
  if (action.sa_flags & SA_RESETHAND) program_action(number)->sa_handler = SIG_DFL;
  struct kernel_action wanted = {action.sa_sigaction, (unsigned)action.sa_flags, NULL, 0};
  /* The program's handler may be the first caller of a removed function. */
  unsigned long mask = *(unsigned long *)&context->uc_sigmask | *(unsigned long *)&action.sa_mask;
  mask &= ~ours;
  handler_function *handler = NULL;
  if (!deliver(number, info, context, &wanted, mask, &handler)) die_of(number, synchronous);
  return handler;
}

/* A signal of the program that asks for the alternate stack, which is ours. */
static handler_function *pass_on_other(int number, siginfo_t *info, ucontext_t *context) {
  handler_function *handler = NULL;
  if (forward(number, info, context, &handler)) return handler;
  memset(info, 0, sizeof *info);
  info->si_signo = SIGSEGV;
  info->si_code = SI_KERNEL;
  return pass_on(SIGSEGV, info, context, 0);
}

static int is_call(int number, const siginfo_t *info, const uint8_t *instruction) {
  return number == SIGTRAP ? info->si_code == SI_KERNEL : (uint8_t *)info->si_addr == instruction;
}

/* The program's code demangles a name, and needs a much larger stack. */
static void refuse_with_room(void) {
  enum { ROOM = 8 << 20 };
  uint8_t *stack = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) refuse();
  trimtab_switch(stack + ROOM, refuse);
}

handler_function *on_signal(int number, siginfo_t *info, ucontext_t *context) {
  int error = errno, found = 0, refused = 0;
  handler_function *handler = NULL;
  if (number != SIGTRAP && number != SIGSEGV) {
    handler = pass_on_other(number, info, context);
    errno = error;
    return handler;
  }
  greg_t *registers = context->uc_mcontext.gregs;
  greg_t *instruction = &registers[REG_RIP];
  uint8_t *address = (uint8_t *)*instruction - (number == SIGTRAP ? 1 : 0);
  int calling = is_call(number, info, address);
  int reading = number == SIGSEGV && info->si_code > 0 && !(registers[REG_ERR] & WRITING);
  struct loaded loaded;
  if (!calling) address = info->si_addr;
  if ((calling || reading) && environment_known && find_loaded(address, &loaded)) {
    sigset_t before;
    struct miss miss;
    take_lock(&before);
    found = put_back_at(&loaded, address, calling, &miss);
    if (miss.library) refused = note_miss(&miss);
    release_lock(&before);
  }
  if (refused) refuse_with_room();
  if (found && number == SIGTRAP) *instruction = (greg_t)address;
  if (!found) handler = pass_on(number, info, context, info->si_code > 0);
  errno = error;
  return handler;
}

/* The C library's, which debuggers recognize. */
static void (*return_from_signal(void))(void) {
  static void (*known)(void);
  struct kernel_action installed;
  if (!known && !syscall(SYS_rt_sigaction, SIGTRAP, NULL, &installed, sizeof installed.mask))
    known = installed.restorer;
  return known;
}

/* Replaces the C library's sigaction. */
static int replaced_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  if (number == SIGTRAP || number == SIGSEGV) {
    struct sigaction before = *program_action(number);
    if (action) *program_action(number) = *action;
    if (old) *old = before;
    return 0;
  }
  if (number == FIRST_INTERNAL || number == LAST_INTERNAL) {
    errno = EINVAL;
    return -1;
  }
  struct kernel_action changed, before, forwarded = handler_of(number);
  if (action) {
    int handled = action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
    changed = (struct kernel_action){action->sa_sigaction,
                                     (unsigned)action->sa_flags | SA_RESTORER_FLAG,
                                     handled ? return_from_signal() : NULL,
                                     *(const unsigned long *)&action->sa_mask & ~ours};
    if (changed.flags & SA_ONSTACK && handled && remember_handler(number, &changed))
      changed.handler = trimtab_enter;
  }
  if (syscall(SYS_rt_sigaction, number, action ? &changed : NULL, &before, sizeof before.mask))
    return -1;
  if (before.handler == trimtab_enter) before.handler = forwarded.handler;
  if (old) {
    memset(old, 0, sizeof *old);
    old->sa_sigaction = before.handler;
    old->sa_flags = (int)before.flags;
    old->sa_restorer = before.restorer;
    memcpy(&old->sa_mask, &before.mask, sizeof before.mask);
  }
  return 0;
}

/* Handlers that were set before ours also ask for the alternate stack. */
static void take_handlers(void) {
  struct sigaction action;
  for (int number = 1; number < SIGRTMAX; number++)
    if (!(ours & BIT(number)) && !replaced_sigaction(number, NULL, &action) &&
        action.sa_flags & SA_ONSTACK)
      replaced_sigaction(number, &action, NULL);
}

/* The part of our signals that this thread believes to be blocked. */
static __thread unsigned long blocked_in_word __attribute__((tls_model("initial-exec")));

/* Replaces the C library's sigprocmask. */
static int replaced_sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  unsigned long given = set ? *(const unsigned long *)set : 0, before = blocked_in_word;
  unsigned long mask = given & ~(ours | BIT(FIRST_INTERNAL) | BIT(LAST_INTERNAL));
  if (syscall(SYS_rt_sigprocmask, how, set ? &mask : NULL, old, sizeof mask)) return -1;
  if (set && how == SIG_BLOCK) blocked_in_word |= given & ours;
  if (set && how == SIG_UNBLOCK) blocked_in_word &= ~given;
  if (set && how == SIG_SETMASK) blocked_in_word = given & ours;
  if (old) *(unsigned long *)old |= before;
  return 0;
}

/* Replaces the C library's pthread_sigmask. */
static int replaced_pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  int error = errno;
  int result = replaced_sigprocmask(how, set, old) ? errno : 0;
  errno = error;
  return result;
}

/* Replaces the C library's pthread_create, which thrd_create also calls. */
static create_function *original_create;
static int replaced_create(pthread_t *thread, const pthread_attr_t *attributes,
                           void *(*routine)(void *), void *argument) {
  return create_with_stack(original_create, thread, attributes, routine, argument);
}

/* The file fallback waits for the first thread, to load this library, by a change of pthread_create. */
static int free_create(struct dl_phdr_info *info, size_t size, void *data) {
  struct symbols symbols;
  const ElfW(Sym) *found;
  uint32_t next = 0;
  (void)size;
  (void)data;
  if (find_symbols(info, &symbols) && (found = symbol_named(&symbols, "trimtab_leave_threads", &next)) &&
      found->st_shndx != SHN_UNDEF)
    ((void (*)(void))(info->dlpi_addr + found->st_value))();
  return 0;
}

static sigset_t before_fork;
static void prepare_fork(void) { take_lock(&before_fork); }
static void after_fork(void) {
  sigset_t before = before_fork;
  release_lock(&before);
}
static void after_fork_in_child(void) {
  forget_misses();
  forget_threads();
  after_fork();
}

void catch_signals(void) {
  struct sigaction action = {.sa_sigaction = trimtab_enter, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  action.sa_flags |= ANOTHER_FALLBACK; /* if there already is one */
  begin_threads(find_function);
  sigfillset(&action.sa_mask);
  sigaction(SIGTRAP, &action, &trap_action);
  sigaction(SIGSEGV, &action, &fault_action);
  take_handlers();
  unsigned long mask = ours, before = 0; /* a mask is inherited through exec */
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, &before, sizeof mask);
  blocked_in_word = before & ours;
  pthread_atfork(prepare_fork, after_fork, after_fork_in_child);
  replace_function("sigaction", (uintptr_t)replaced_sigaction, NULL);
  replace_function("sigprocmask", (uintptr_t)replaced_sigprocmask, NULL);
  replace_function("pthread_sigmask", (uintptr_t)replaced_pthread_sigmask, NULL);
  replace_function("sigaltstack", (uintptr_t)replaced_sigaltstack, NULL);
  dl_iterate_phdr(free_create, NULL);
  replace_function("pthread_create", (uintptr_t)replaced_create, (void **)&original_create);
  /* It refuses to leave a stack that the kernel does not know. */
  replace_with("__longjmp_chk", "siglongjmp");
  redirect();
}
