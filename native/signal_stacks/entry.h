/* Where the kernel enters this library for a signal, and where the program's handlers return. */
#ifndef TRIMTAB_ENTRY_H
#define TRIMTAB_ENTRY_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

typedef void handler_function(int, siginfo_t *, void *);

/* A signal handler. It calls on_signal on a stack of this library; if that returns a handler, it
 * continues with it on the stack that the kernel chose. */
__attribute__((visibility("hidden"))) handler_function trimtab_enter;
__attribute__((visibility("hidden"))) handler_function *on_signal(int number, siginfo_t *info,
                                                                  ucontext_t *context);

/* The return address of a frame of deliver(): before_return, then rt_sigreturn(2). */
__attribute__((visibility("hidden"))) void trimtab_leave(void);
__attribute__((visibility("hidden"))) void before_return(ucontext_t *context);

/* Continue with `run`, which never returns, on the stack that ends at `top`. */
__attribute__((noreturn, visibility("hidden"))) void trimtab_switch(uint8_t *top, void (*run)(void));

#endif
