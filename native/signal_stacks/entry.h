/* Where the kernel enters this library for a signal, and where the program's handlers return to. */
#ifndef TRIMTAB_ENTRY_H
#define TRIMTAB_ENTRY_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

typedef void handler_function(int, siginfo_t *, void *);

/* A handler of signals. It calls on_signal on a stack of this library's own, and where that returns a
 * handler goes on with it on the stack that the kernel chose. */
__attribute__((visibility("hidden"))) handler_function trimtab_enter;
__attribute__((visibility("hidden"))) handler_function *on_signal(int number, siginfo_t *info,
                                                                  ucontext_t *context);

/* The return address of a frame that deliver() makes: before_return, then rt_sigreturn(2). */
__attribute__((visibility("hidden"))) void trimtab_leave(void);
__attribute__((visibility("hidden"))) void before_return(ucontext_t *context);

/* Go on with `run`, which never returns, on the stack that ends at `top`. */
__attribute__((noreturn, visibility("hidden"))) void trimtab_switch(uint8_t *top, void (*run)(void));

#endif
