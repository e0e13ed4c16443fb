#define _GNU_SOURCE
#include "deliver.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "../kernel_call/kernel_call.h"
#include "alternate_stack.h"
#include "stacks.h"
#include "threads.h"

enum {
  DIRECTION = 0x400, /* flags that the kernel clears for a handler */
  TRAPPING = 0x100,
  RESUME = 0x10000,
  RED_ZONE = 128,
  CONTEXT_BYTES = offsetof(ucontext_t, uc_sigmask) + 8 /* the C library's structure is larger */
};

/* The kernel's layout on the stack (arch/x86/kernel/signal_64.c), followed by the processor's
 * state. */
struct frame {
  void (*returns_to)(void);
  uint8_t context[CONTEXT_BYTES];
  siginfo_t info;
};

/* struct _fpx_sw_bytes of the kernel's asm/sigcontext.h, in the space that FXSAVE leaves unused. */
static size_t state_bytes(const void *state) {
  enum { MAGIC = 0x46505853, AT = 464, WITHOUT = 512 };
  uint32_t words[2];
  if (!state) return 0;
  memcpy(words, (const uint8_t *)state + AT, sizeof words);
  return words[0] == MAGIC ? words[1] : WITHOUT;
}

int deliver(int number, siginfo_t *info, ucontext_t *context, const struct kernel_action *action,
            unsigned long mask, handler_function **handler) {
  greg_t *registers = context->uc_mcontext.gregs;
  uintptr_t interrupted = (uintptr_t)registers[REG_RSP];
  unsigned stack = stack_at((uintptr_t)context);
  if (!stack || stack_at(interrupted) || action->flags & ANOTHER_FALLBACK) {
    kernel(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
    *handler = action->handler;
    return 1;
  }
  stack_t *chosen = &thread_on(stack)->chosen;
  int on = is_on_stack(chosen, interrupted);
  int entering = action->flags & SA_ONSTACK && chosen->ss_size && !on;
  uintptr_t top = entering ? (uintptr_t)chosen->ss_sp + chosen->ss_size : interrupted - RED_ZONE;
  void *state = context->uc_mcontext.fpregs;
  size_t bytes = state_bytes(state);
  uintptr_t copy = (top - bytes) & ~63ul;
  uintptr_t at = ((copy - sizeof(struct frame)) & ~15ul) - 8;
  if ((on || entering) &&
      (at <= (uintptr_t)chosen->ss_sp || at - (uintptr_t)chosen->ss_sp > chosen->ss_size))
    return 0;
  struct frame *frame = (struct frame *)at;
  memcpy((void *)copy, state, bytes);
  frame->returns_to = trimtab_leave;
  memcpy(frame->context, context, CONTEXT_BYTES);
  frame->info = *info;
  ucontext_t *copied = (ucontext_t *)frame->context;
  copied->uc_mcontext.fpregs = state ? (void *)copy : NULL;
  copied->uc_stack = *chosen;
  if (!chosen->ss_size) copied->uc_stack.ss_flags |= SS_DISABLE;
  if (chosen->ss_flags & AUTODISARM) *chosen = (stack_t){0};
  registers[REG_RIP] = (greg_t)action->handler;
  registers[REG_RSP] = (greg_t)at;
  registers[REG_RDI] = number;
  registers[REG_RSI] = (greg_t)&frame->info;
  registers[REG_RDX] = (greg_t)copied;
  registers[REG_RAX] = 0;
  registers[REG_EFL] &= ~(greg_t)(DIRECTION | TRAPPING | RESUME);
  context->uc_mcontext.fpregs = NULL; /* a handler's initial state */
  memcpy(&context->uc_sigmask, &mask, sizeof mask);
  return 1;
}

/* Otherwise the kernel would use the frame's stack as its own. */
void before_return(ucontext_t *context) {
  unsigned stack = own_stack();
  if (!stack) return;
  stack_t *chosen = &thread_on(stack)->chosen, given = context->uc_stack;
  if (given.ss_flags & SS_DISABLE) given = (stack_t){0};
  *chosen = given;
  context->uc_stack = (stack_t){stack_base(stack), 0, STACK_BYTES};
}
