/* contexts NAME: calls functions that nobody called before in one kind of context, and prints what they
 * returned and how many bytes were written that do not belong to the stack in use. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fenv.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>

enum { FUNCTIONS = 60, AROUND = 1 << 16, PATTERN = 0x5a };
static int (*work[FUNCTIONS])(int);
static void load(void) { /* where it was not loaded with the program */
  void *library = dlopen("libmine.so", RTLD_NOW);
  char name[16];
  for (int i = 0; library && i < FUNCTIONS; i++) {
    snprintf(name, sizeof name, "work_%d", i);
    work[i] = (int (*)(int))dlsym(library, name);
  }
}

static volatile int next_function;
static volatile long answer;
static void miss(void) { /* one function after the other */
  int i = __atomic_fetch_add(&next_function, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&answer, work[i % FUNCTIONS](i), __ATOMIC_RELAXED);
}
static void say(long value) { answer = answer * 1000003 + value; }

/* Memory for stacks, with a pattern on both sides. */
static struct { uint8_t *first; size_t bytes; } watched[512];
static int watching;
static uint8_t *watch(uint8_t *room, size_t bytes) {
  memset(room, PATTERN, bytes + 2 * AROUND);
  int at = __atomic_fetch_add(&watching, 1, __ATOMIC_RELAXED);
  watched[at].bytes = bytes;
  watched[at].first = room;
  return room + AROUND;
}
static uint8_t *guarded(size_t bytes) {
  bytes = (bytes + 63) & ~63ul;
  return watch(mmap(NULL, bytes + 2 * AROUND, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
}
static long damaged(void) {
  long bytes = 0;
  for (int i = 0; i < watching; i++)
    for (size_t at = 0; at < AROUND; at++)
      bytes += (watched[i].first[at] != PATTERN) + (watched[i].first[AROUND + watched[i].bytes + at] != PATTERN);
  return bytes;
}

static void use_stack(void *memory, size_t bytes, int flags) {
  stack_t stack = {.ss_sp = memory, .ss_size = bytes, .ss_flags = flags};
  if (sigaltstack(&stack, NULL)) say(errno);
}
static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  if (sigaction(number, &action, NULL)) say(errno);
}
static void on_signal(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  miss();
  say(number);
}
static void on_alternate(size_t bytes) {
  use_stack(guarded(bytes), bytes, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  raise(SIGUSR1);
  raise(SIGUSR1);
}

/* Handlers on alternate stacks. */
static void alternate_of_the_smallest_size(void) { on_alternate(getauxval(AT_MINSIGSTKSZ) + 1024); }
static void alternate_of_6_kib(void) { on_alternate(6144); }
static void alternate_of_8_kib(void) { on_alternate(8192); }
static void alternate_of_16_kib(void) { on_alternate(16384); }
static void alternate_of_64_kib(void) { on_alternate(65536); }
static void alternate_without_room(void) { on_alternate(2048); }
static void alternate_from_malloc(void) {
  use_stack(watch(malloc(8192 + 2 * AROUND), 8192), 8192, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  raise(SIGUSR1);
  free(malloc(100));
}
static void *alternate_thread(void *unused) { on_alternate(8192); return unused; }
static void run_thread(void *(*run)(void *), size_t bytes) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (bytes) pthread_attr_setstack(&attributes, guarded(bytes), bytes);
  if (pthread_create(&thread, &attributes, run, NULL)) say(1);
  else pthread_join(thread, NULL);
}
static void alternate_in_a_thread(void) { run_thread(alternate_thread, 0); }
static void alternate_in_two_threads(void) {
  pthread_t one, other;
  pthread_create(&one, NULL, alternate_thread, NULL);
  pthread_join(one, NULL);
  pthread_create(&other, NULL, alternate_thread, NULL);
  pthread_join(other, NULL);
  stack_t now;
  sigaltstack(NULL, &now);
  say(now.ss_flags);
}
static void old_handler(int number) { miss(); say(number); }
static void alternate_by_a_handler_without_information(void) {
  use_stack(guarded(8192), 8192, 0);
  struct sigaction action = {.sa_handler = old_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR2);
}
static volatile int depth;
static void again(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  miss();
  if (++depth < 3) raise(number);
  miss();
}
static void alternate_nested_by_the_same_signal(void) {
  use_stack(guarded(32768), 32768, 0);
  handle(SIGUSR1, again, SA_ONSTACK | SA_NODEFER);
  raise(SIGUSR1);
}
static void first(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  raise(SIGUSR2);
  miss();
}
static void alternate_nested_by_another_signal(void) {
  use_stack(guarded(16384), 16384, 0);
  handle(SIGUSR1, first, SA_ONSTACK);
  handle(SIGUSR2, on_signal, SA_ONSTACK);
  raise(SIGUSR1);
}
static void alternate_nested_without_room(void) { /* the original dies, too */
  use_stack(guarded(6144), 6144, 0);
  handle(SIGUSR1, first, SA_ONSTACK);
  handle(SIGUSR2, on_signal, SA_ONSTACK);
  raise(SIGUSR1);
}
static void alternate_reset_by_the_first(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK | SA_RESETHAND);
  raise(SIGUSR1);
  struct sigaction now;
  sigaction(SIGUSR1, NULL, &now);
  say(now.sa_handler == SIG_DFL);
}
static void blocks(int number, siginfo_t *info, void *context) {
  sigset_t set;
  on_signal(number, info, context);
  sigprocmask(SIG_SETMASK, NULL, &set);
  for (int i = 1; i < 32; i++) say(sigismember(&set, i));
  raise(SIGUSR2); /* comes when this one returned */
  say(depth);
}
static void count(int number, siginfo_t *info, void *context) { depth++; on_signal(number, info, context); }
static void alternate_with_a_mask(void) {
  use_stack(guarded(8192), 8192, 0);
  struct sigaction action = {.sa_sigaction = blocks, .sa_flags = SA_SIGINFO | SA_ONSTACK}, now;
  sigaddset(&action.sa_mask, SIGUSR2);
  sigaddset(&action.sa_mask, SIGHUP);
  sigaction(SIGUSR1, &action, NULL);
  handle(SIGUSR2, count, SA_ONSTACK);
  raise(SIGUSR1);
  sigaction(SIGUSR1, NULL, &now);
  say(now.sa_sigaction == blocks);
  say(now.sa_flags);
  say(sigismember(&now.sa_mask, SIGHUP));
  sigset_t set;
  sigprocmask(SIG_SETMASK, NULL, &set);
  for (int i = 1; i < 32; i++) say(sigismember(&set, i));
  say(depth);
}
static sigjmp_buf back;
static void jump(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  siglongjmp(back, 1);
}
static void alternate_left_by_longjmp(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, jump, SA_ONSTACK);
  for (volatile int i = 0; i < 5; i++)
    if (!sigsetjmp(back, 1)) raise(SIGUSR1);
  miss();
}
static void *left_upwards(void *stack) { /* from a stack that lies above the thread's */
  use_stack(stack, 8192, 0);
  handle(SIGUSR1, jump, SA_ONSTACK);
  if (!sigsetjmp(back, 1)) raise(SIGUSR1);
  miss();
  return NULL;
}
static void alternate_above_left_by_longjmp(void) {
  uint8_t *room = guarded(65536 + 8192);
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, room, 65536);
  pthread_create(&thread, &attributes, left_upwards, room + 65536);
  pthread_join(thread, NULL);
}
static ucontext_t main_context, other_context;
static void leave_by_context(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  setcontext(&main_context);
}
static void alternate_left_by_setcontext(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, leave_by_context, SA_ONSTACK);
  volatile int times = 0;
  getcontext(&main_context);
  if (times++ < 3) raise(SIGUSR1);
  sigset_t set;
  sigprocmask(SIG_SETMASK, NULL, &set);
  say(sigismember(&set, SIGUSR1));
}
static void *in_handler_until_cancelled(int number) { on_signal(number, NULL, NULL); pthread_exit(NULL); }
static void exit_thread(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  in_handler_until_cancelled(number);
}
static void clean(void *unused) { (void)unused; miss(); }
static void *exits(void *unused) {
  use_stack(guarded(16384), 16384, 0);
  handle(SIGUSR1, exit_thread, SA_ONSTACK);
  pthread_cleanup_push(clean, NULL);
  raise(SIGUSR1);
  pthread_cleanup_pop(0);
  return unused;
}
static void alternate_left_by_the_end_of_a_thread(void) { run_thread(exits, 0); }
static void traced(int number, siginfo_t *info, void *context) {
  void *frames[64];
  on_signal(number, info, context);
  int found = 0, frames_found = backtrace(frames, 64);
  for (int i = 0; i < frames_found; i++) {
    Dl_info about;
    found += dladdr(frames[i], &about) && about.dli_sname && !strcmp(about.dli_sname, "main");
  }
  say(found);
}
static void alternate_unwound(void) {
  void *warm[4];
  backtrace(warm, 4);
  use_stack(guarded(65536), 65536, 0);
  handle(SIGUSR1, traced, SA_ONSTACK);
  raise(SIGUSR1);
}
static void asks(int number, siginfo_t *info, void *context) {
  stack_t now, seen = ((ucontext_t *)context)->uc_stack, small = {.ss_flags = SS_DISABLE};
  on_signal(number, info, context);
  say(sigaltstack(NULL, &now));
  say(now.ss_flags);
  say((long)now.ss_size);
  say(now.ss_sp == seen.ss_sp && now.ss_size == seen.ss_size);
  say(seen.ss_flags);
  say(sigaltstack(&small, NULL));
  say(errno);
}
static void alternate_asked_for(void) {
  uint8_t *room = guarded(16384);
  stack_t now, small = {.ss_sp = room, .ss_size = 1000}, strange = {.ss_sp = room, .ss_size = 16384, .ss_flags = 77};
  sigaltstack(NULL, &now);
  say(now.ss_flags);
  say(sigaltstack(&small, NULL));
  say(errno);
  say(sigaltstack(&strange, NULL));
  say(errno);
  use_stack(room, 16384, 0);
  handle(SIGUSR1, asks, SA_ONSTACK);
  raise(SIGUSR1);
  stack_t off = {.ss_flags = SS_DISABLE};
  say(sigaltstack(&off, &now));
  say(now.ss_sp == room);
  say(now.ss_flags);
  sigaltstack(NULL, &now);
  say(now.ss_flags);
  say((long)now.ss_size);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  raise(SIGUSR1);
}
static uint8_t *other_stack;
static void elsewhere(void) {
  miss();
  raise(SIGUSR1); /* begins the same alternate stack again, on which another handler waits */
  miss();
}
static void switches(int number, siginfo_t *info, void *context) {
  volatile char kept[64];
  memset((void *)kept, 7, sizeof kept);
  on_signal(number, info, context);
  if (depth++) return;
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = other_stack;
  other_context.uc_stack.ss_size = 32768;
  other_context.uc_link = &main_context;
  sigemptyset(&other_context.uc_sigmask);
  makecontext(&other_context, elsewhere, 0);
  swapcontext(&main_context, &other_context);
  for (size_t i = 0; i < sizeof kept; i++) say(kept[i]);
}
static void alternate_disarmed_for_a_handler_that_switches(void) {
  other_stack = guarded(32768);
  use_stack(guarded(8192), 8192, 1 << 31 /* SS_AUTODISARM */);
  handle(SIGUSR1, switches, SA_ONSTACK);
  raise(SIGUSR1);
  stack_t now;
  sigaltstack(NULL, &now);
  say(now.ss_size == 8192);
}

/* Faults that the program handles itself. */
static void fault(void) { *(volatile int *)8 = 1; }
static void fault_left_by_longjmp(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGSEGV, jump, SA_ONSTACK);
  for (volatile int i = 0; i < 3; i++)
    if (!sigsetjmp(back, 1)) fault();
}
static void fault_without_an_alternate_stack(void) {
  handle(SIGSEGV, jump, 0);
  for (volatile int i = 0; i < 3; i++)
    if (!sigsetjmp(back, 1)) fault();
}
static uint8_t *closed_page;
static void opens(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  say(info->si_addr == closed_page);
  mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
}
static void fault_that_is_mended(void) {
  closed_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  use_stack(guarded(8192), 8192, 0);
  handle(SIGSEGV, opens, SA_ONSTACK);
  *closed_page = 5;
  say(*closed_page);
}
static long recurse(long x) { volatile char room[512]; room[0] = 1; return x ? recurse(x - 1) + room[0] : 0; }
static void *overflows(void *unused) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGSEGV, jump, SA_ONSTACK);
  if (!sigsetjmp(back, 1)) say(recurse(1l << 40));
  miss();
  return unused;
}
static void fault_by_a_stack_that_overflows(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, overflows, NULL);
  pthread_join(thread, NULL);
}
static void skip_instruction(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}
static void fault_by_an_instruction_that_is_skipped(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGILL, skip_instruction, SA_ONSTACK);
  __asm__ volatile("ud2");
}
static void fault_by_a_trap(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGTRAP, on_signal, SA_ONSTACK);
  __asm__ volatile("int3");
}
static void leaves(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  _exit(7);
}
static void fault_on_an_alternate_stack_without_room(void) { /* with room where a frame has no AVX-512 */
  use_stack(guarded(2048), 2048, 0);
  handle(SIGSEGV, leaves, SA_ONSTACK);
  fault();
}
static void fault_without_room_for_a_signal(void) { /* the kernel makes it a fault, handled elsewhere */
  use_stack(guarded(2048), 2048, 0);
  handle(SIGSEGV, jump, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  if (!sigsetjmp(back, 1)) raise(SIGUSR1);
}
static void fault_in_a_handler(void) {
  use_stack(guarded(32768), 32768, 0);
  handle(SIGSEGV, jump, SA_ONSTACK);
  handle(SIGUSR1, first, SA_ONSTACK);
  struct sigaction action = {.sa_handler = (void (*)(int))fault, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  if (!sigsetjmp(back, 1)) raise(SIGUSR1);
}

/* Registers. */
static void changes_state(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  say(fegetround());
  fesetround(FE_DOWNWARD);
  __asm__ volatile("pxor %%xmm7, %%xmm7" ::: "xmm7");
}
static void with_state_of(int wide) {
  static uint8_t before[64] __attribute__((aligned(64))), after[64] __attribute__((aligned(64)));
  for (int i = 0; i < 64; i++) before[i] = (uint8_t)(i * 7 + 1);
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, changes_state, SA_ONSTACK);
  fesetround(FE_UPWARD);
  long pid = getpid(), number = SIGUSR1, result;
  if (wide)
    __asm__ volatile("vmovdqa64 (%4), %%zmm7\n vmovdqa64 (%4), %%zmm25\n syscall\n"
                     "vpxorq %%zmm25, %%zmm7, %%zmm7\n vpaddb (%4), %%zmm7, %%zmm7\n vmovdqa64 %%zmm7, (%5)"
                     : "=a"(result) : "0"(SYS_kill), "D"(pid), "S"(number), "r"(before), "r"(after)
                     : "rcx", "r11", "memory", "xmm7");
  else
    __asm__ volatile("movdqa (%4), %%xmm7\n syscall\n movdqa %%xmm7, (%5)"
                     : "=a"(result) : "0"(SYS_kill), "D"(pid), "S"(number), "r"(before), "r"(after)
                     : "rcx", "r11", "memory", "xmm7");
  say(memcmp(before, after, wide ? 64 : 16));
  say(fegetround());
}
static void state_of_xmm(void) { with_state_of(0); }
__attribute__((target("avx512f,avx512bw"))) static void state_of_zmm(void) {
  if (__builtin_cpu_supports("avx512bw")) with_state_of(1);
  else with_state_of(0);
}
static void red_zone_under_a_read(void) {
  static uint64_t kept[16];
  const uint8_t *code = (const uint8_t *)work[0];
  uint64_t read;
  __asm__ volatile("sub $256, %%rsp\n mov $16, %%ecx\n"
                   "1: mov %%rcx, -8(%%rsp,%%rcx,8)\n dec %%ecx\n jnz 1b\n"
                   "add $128, %%rsp\n mov (%1), %0\n mov $16, %%ecx\n"
                   "2: mov -136(%%rsp,%%rcx,8), %%rax\n mov %%rax, -8(%2,%%rcx,8)\n dec %%ecx\n jnz 2b\n"
                   "add $128, %%rsp"
                   : "=&r"(read) : "r"(code), "r"(kept) : "rax", "rcx", "memory", "cc");
  for (int i = 0; i < 16; i++) say((long)kept[i]);
  say(read != 0);
  miss();
}

/* Coroutines. */
static void coroutine_body(void) { miss(); miss(); }
static void coroutine(size_t bytes, void (*body)(void)) {
  ucontext_t here, there;
  getcontext(&there);
  there.uc_stack.ss_sp = guarded(bytes);
  there.uc_stack.ss_size = bytes;
  there.uc_link = &here;
  makecontext(&there, body, 0);
  swapcontext(&here, &there);
}
static void coroutine_of_1_kib(void) { coroutine(1024, coroutine_body); }
static void coroutine_of_4_kib(void) { coroutine(4096, coroutine_body); }
static void coroutine_of_8_kib(void) { coroutine(8192, coroutine_body); }
static void coroutine_of_64_kib(void) { coroutine(65536, coroutine_body); }
static void *coroutine_thread(void *unused) { coroutine(4096, coroutine_body); return unused; }
static void coroutine_in_a_thread(void) { run_thread(coroutine_thread, 0); }
static void coroutine_beside_an_alternate_stack(void) {
  on_alternate(8192);
  coroutine(4096, coroutine_body);
  raise(SIGUSR1);
}
static void raises(void) { miss(); raise(SIGUSR1); miss(); }
static void coroutine_with_a_handler_on_it(void) {
  handle(SIGUSR1, on_signal, 0);
  coroutine(16384, raises);
}
static void coroutine_with_a_handler_on_it_for_want_of_another(void) {
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  coroutine(16384, raises);
}
static void coroutine_with_a_handler_elsewhere(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  coroutine(4096, raises);
}
static void coroutine_made_by_hand(void) {
  uint8_t *top = guarded(512) + 512;
  __asm__ volatile("mov %%rsp, %%rbx\n mov %0, %%rsp\n call *%1\n mov %%rbx, %%rsp"
                   : : "r"(top), "r"(miss)
                   : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}
static ucontext_t turns[2];
static void turn(void) { for (int i = 0; i < 5; i++) { miss(); swapcontext(&turns[0], &turns[1]); } }
static void coroutine_that_takes_turns(void) {
  getcontext(&turns[0]);
  turns[0].uc_stack.ss_sp = guarded(4096);
  turns[0].uc_stack.ss_size = 4096;
  makecontext(&turns[0], turn, 0);
  for (int i = 0; i < 5; i++) { swapcontext(&turns[1], &turns[0]); miss(); }
}
static void __attribute__((noinline)) slice(void) { /* as greenlets: one stack, its contents in turns */
  static uint8_t saved[2048];
  volatile uint8_t mine[1024];
  memset((void *)mine, 3, sizeof mine);
  memcpy(saved, (const void *)mine, sizeof mine);
  miss();
  say(memcmp(saved, (const void *)mine, sizeof mine));
  memset((void *)mine, 4, sizeof mine);
  miss();
  memcpy((void *)mine, saved, sizeof mine);
  for (size_t i = 0; i < sizeof mine; i += 100) say(mine[i]);
}
static void coroutine_that_shares_a_stack(void) { coroutine(8192, slice); }

/* Threads. */
static void *misses(void *unused) { miss(); return unused; }
static void thread_of_the_smallest_size(void) { run_thread(misses, (size_t)sysconf(_SC_THREAD_STACK_MIN)); }
static void thread_on_memory_of_the_program(void) { run_thread(misses, 65536); }
static void *blocked(void *unused) {
  sigset_t set;
  sigfillset(&set);
  pthread_sigmask(SIG_SETMASK, &set, NULL);
  coroutine(4096, coroutine_body);
  return unused;
}
static void thread_that_blocks_all_signals(void) { run_thread(blocked, 0); }
static int returns(void *unused) { (void)unused; miss(); return -7; }
static void thread_of_c11(void) {
  thrd_t thread;
  int result = 0;
  thrd_create(&thread, returns, NULL);
  thrd_join(thread, &result);
  say(result);
}
static pthread_barrier_t together;
static void *with_others(void *unused) {
  pthread_barrier_wait(&together);
  coroutine(4096, coroutine_body);
  use_stack(guarded(8192), 8192, 0);
  raise(SIGUSR1);
  pthread_barrier_wait(&together);
  return unused;
}
static void misses_only(int number, siginfo_t *info, void *context) { (void)number, (void)info, (void)context; miss(); }
static void threads_at_once(void) {
  enum { AT_ONCE = 60 };
  pthread_t threads[AT_ONCE];
  handle(SIGUSR1, misses_only, SA_ONSTACK);
  pthread_barrier_init(&together, NULL, AT_ONCE);
  for (int i = 0; i < AT_ONCE; i++) pthread_create(&threads[i], NULL, with_others, NULL);
  for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
}
static void threads_one_after_the_other(void) {
  for (int i = 0; i < 200; i++) run_thread(coroutine_thread, 0);
}
static pthread_key_t key;
static void destroys(void *rounds) {
  coroutine(4096, coroutine_body);
  raise(SIGUSR1);
  if ((intptr_t)rounds < 4) pthread_setspecific(key, (char *)rounds + 1);
}
static void *destroyed(void *unused) {
  use_stack(guarded(8192), 8192, 0);
  pthread_setspecific(key, (void *)1);
  return unused;
}
static void thread_with_destructors(void) {
  pthread_key_create(&key, destroys);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  run_thread(destroyed, 0);
}
static volatile int stop;
static void *allocates(void *unused) {
  while (!stop) free(malloc(1 << 10));
  return unused;
}
static void *loads(void *unused) {
  while (!stop) {
    void *library = dlopen("libm.so.6", RTLD_NOW);
    if (library) dlclose(library);
  }
  return unused;
}
static void beside(void *(*run)(void *)) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  for (int i = 0; i < 20; i++) { coroutine(4096, coroutine_body); raise(SIGUSR1); }
  stop = 1;
  pthread_join(thread, NULL);
}
static void beside_a_thread_in_malloc(void) { beside(allocates); }
static void beside_a_thread_in_the_linker(void) { beside(loads); }
static int ends_of_pipe[2];
static volatile pthread_t reader;
static void *sends(void *unused) {
  while (!reader) sched_yield();
  while (!depth) { pthread_kill(reader, SIGUSR1); sched_yield(); }
  if (write(ends_of_pipe[1], "x", 1) != 1) say(1);
  return unused;
}
static void once(int number, siginfo_t *info, void *context) { (void)number, (void)info, (void)context; if (!depth) miss(); depth = 1; }
static void reading(int flags) {
  pthread_t thread;
  char byte = 0;
  if (pipe(ends_of_pipe)) say(1);
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, once, SA_ONSTACK | flags);
  reader = pthread_self();
  pthread_create(&thread, NULL, sends, NULL);
  long got;
  while ((got = read(ends_of_pipe[0], &byte, 1)) < 0 && errno == EINTR && !(flags & SA_RESTART)) {}
  say(got);
  say(byte);
  pthread_join(thread, NULL);
}
static void system_call_that_is_restarted(void) { reading(SA_RESTART); }
static void system_call_that_is_interrupted(void) { reading(0); }
static void waits_for_a_signal(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, count, SA_ONSTACK);
  handle(SIGUSR2, count, SA_ONSTACK);
  sigset_t set, none;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR1);
  raise(SIGUSR2);
  sigemptyset(&none);
  say(sigsuspend(&none));
  say(errno);
  say(depth); /* both came */
  sigprocmask(SIG_SETMASK, NULL, &set);
  say(sigismember(&set, SIGUSR1));
}

/* Other processes and other ways to threads. */
static void join_child(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  say(status);
}
static void forked_child(void) {
  pid_t child = fork();
  if (!child) { coroutine(4096, coroutine_body); on_alternate(8192); run_thread(coroutine_thread, 0); _exit((int)answer & 127); }
  join_child(child);
}
static void forks(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  pid_t child = fork();
  if (!child) { miss(); _exit((int)answer & 127); }
  join_child(child);
}
static void forked_child_of_a_handler(void) {
  use_stack(guarded(16384), 16384, 0);
  handle(SIGUSR1, forks, SA_ONSTACK);
  raise(SIGUSR1);
}
static void *forks_in_thread(void *unused) { forked_child(); return unused; }
static void forked_child_of_a_thread(void) { run_thread(forks_in_thread, 0); }
static void vforks(void) {
  pid_t child = vfork();
  if (!child) { miss(); _exit(3); }
  join_child(child);
  miss();
}
static void child_of_vfork(void) { vforks(); }
static void vforks_in_handler(int number, siginfo_t *info, void *context) { (void)number, (void)info, (void)context; vforks(); }
static void child_of_vfork_in_a_handler(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, vforks_in_handler, SA_ONSTACK);
  raise(SIGUSR1);
}
static void child_of_spawn(void) {
  char *arguments[] = {"true", NULL};
  pid_t child = 0;
  on_alternate(8192);
  say(posix_spawnp(&child, "true", NULL, NULL, arguments, arguments + 1));
  join_child(child);
  raise(SIGUSR1);
}
static int cloned(void *unused) { (void)unused; miss(); return 5; }
static void thread_by_clone(void) {
  join_child(clone(cloned, guarded(65536) + 65536, CLONE_VM | SIGCHLD, NULL));
  miss();
}
static int cloned_with_a_stack(void *memory) {
  stack_t stack = {.ss_sp = memory, .ss_size = 8192};
  sigaltstack(&stack, NULL);
  raise(SIGUSR1);
  return 5;
}
static void thread_by_clone_with_an_alternate_stack(void) {
  handle(SIGUSR1, misses_only, SA_ONSTACK);
  join_child(clone(cloned_with_a_stack, guarded(65536) + 65536, CLONE_VM | SIGCHLD, guarded(8192)));
  stack_t now;
  sigaltstack(NULL, &now);
  say(now.ss_flags);
}
static void stack_by_a_raw_call(void) {
  stack_t stack = {.ss_sp = guarded(8192), .ss_size = 8192};
  syscall(SYS_sigaltstack, &stack, NULL);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  raise(SIGUSR1);
  handle(SIGSEGV, jump, SA_ONSTACK);
  if (!sigsetjmp(back, 1)) fault();
  miss();
}
static void ends_where_the_stack_has_no_room(void) { /* not as the original does */
  size_t bytes = getauxval(AT_MINSIGSTKSZ);
  if (bytes < 2048) bytes = 2048; /* the kernel takes no smaller one */
  stack_t stack = {.ss_size = bytes};
  uint8_t *room = mmap(NULL, bytes + 64 + 2 * AROUND, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  stack.ss_sp = watch(room, bytes);
  pid_t child = fork();
  if (!child) { syscall(SYS_sigaltstack, &stack, NULL); miss(); _exit(0); }
  join_child(child);
}
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static void confined(void) {
  struct sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(openat), ALLOW(open), ALLOW(close), ALLOW(read), ALLOW(pread64), ALLOW(write), ALLOW(mmap),
      ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(readlink),
      ALLOW(readlinkat), ALLOW(fstat), ALLOW(newfstatat), ALLOW(access), ALLOW(getpid), ALLOW(getrlimit),
      ALLOW(prlimit64), ALLOW(exit_group), ALLOW(gettid), ALLOW(tgkill), ALLOW(brk), ALLOW(getrandom),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) say(errno);
  coroutine(4096, coroutine_body);
  raise(SIGUSR1);
}
static void confined_to_threads_without_a_stack(void) {
  struct sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) say(errno);
  run_thread(alternate_thread, 0);
  run_thread(misses, 65536);
  coroutine(4096, coroutine_body);
  raise(SIGUSR1);
}
static void main_stack_of_little_size(void) {
  struct rlimit limit = {96 << 10, RLIM_INFINITY};
  char *arguments[] = {"contexts", "alternate_of_8_kib", NULL};
  setrlimit(RLIMIT_STACK, &limit);
  execv("/proc/self/exe", arguments);
}

/* The library is loaded when the program has threads, stacks and handlers. */
static uint8_t *own_room;
static void where(int number, siginfo_t *info, void *context) {
  on_signal(number, info, context);
  say((uint8_t *)&number > own_room && (uint8_t *)&number < own_room + 8192);
}
static void late_alternate(void) {
  own_room = guarded(8192);
  use_stack(own_room, 8192, 0);
  handle(SIGUSR1, where, SA_ONSTACK);
  load();
  raise(SIGUSR1);
  stack_t now;
  sigaltstack(NULL, &now);
  say(now.ss_flags);
  say((long)now.ss_size);
  coroutine(4096, coroutine_body);
}
static pthread_barrier_t loaded;
static void *older(void *unused) {
  use_stack(guarded(8192), 8192, 0);
  pthread_barrier_wait(&loaded);
  pthread_barrier_wait(&loaded);
  raise(SIGUSR1);
  coroutine(16384, coroutine_body);
  miss();
  if (!sigsetjmp(back, 1)) *(volatile int *)8 = 1;
  raise(SIGUSR1);
  return unused;
}
static void late_in_an_older_thread(void) {
  pthread_t thread;
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  handle(SIGSEGV, jump, SA_ONSTACK);
  pthread_barrier_init(&loaded, NULL, 2);
  pthread_create(&thread, NULL, older, NULL);
  pthread_barrier_wait(&loaded);
  load();
  pthread_barrier_wait(&loaded);
  pthread_join(thread, NULL);
  run_thread(alternate_thread, 0);
}
static void *loads_library(void *unused) { load(); on_alternate(8192); coroutine(4096, coroutine_body); return unused; }
static void late_by_a_thread(void) {
  run_thread(loads_library, 0);
  miss();
  on_alternate(8192);
  fork() ? wait(NULL) : (miss(), _exit(0));
  run_thread(coroutine_thread, 0);
}
static void many_signals(void) {
  use_stack(guarded(8192), 8192, 0);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  for (int i = 0; i < 2000; i++) raise(SIGUSR1);
}
static void at_exit(void) { coroutine(4096, coroutine_body); printf("%ld %ld\n", answer, damaged()); }
static void end_of_the_program(void) { atexit(at_exit); }

#define CONTEXT(name) {#name, name},
static const struct { const char *name; void (*run)(void); } contexts[] = {LISTED};

int main(int words, char **word) {
  for (size_t i = 0; words > 1 && i < sizeof contexts / sizeof *contexts; i++)
    if (!strcmp(word[1], contexts[i].name)) {
      if (strncmp(word[1], "late", 4)) load();
      contexts[i].run();
      printf("%ld %d %ld\n", answer, next_function, damaged());
      return 0;
    }
  return 2;
}
