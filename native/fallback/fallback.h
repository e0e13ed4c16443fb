/* A library loaded into the programs of a slim environment. A call into removed code traps (0xCC)
 * or faults (a page that left the file); the handlers put the function's original bytes back, so
 * that the call goes on, and what happens then depends on TRIMTAB_FALLBACK:
 *   strict   (the default) a Python RuntimeError that names the function, at the next bytecode of
 *            the main thread, and the first of these messages on standard error; a program without
 *            Python ends with a message and status 70
 *   restore  nothing; the call is recorded
 *   report   nothing; only the number of such functions is recorded, at exit
 * It runs in the middle of any code: no allocation, and only calls that signal handlers may make. */
#ifndef TRIMTAB_FALLBACK_H
#define TRIMTAB_FALLBACK_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAP = 0xcc, PAGE_BYTES = 4096, STATUS_REMOVED = 70 /* EX_SOFTWARE */ };
enum behaviour { STRICT, RESTORE, REPORT };
extern enum behaviour behaviour;
extern char environment_root[PATH_MAX]; /* "" when this library lies in no slim environment */

/* A function that was called although it was removed. */
struct removed_call {
  const char *library;  /* its path in the environment */
  const char *function; /* mangled; "" when the original does not name it */
  uint32_t address;     /* as in the library's file */
};

/* Where the environment's libraries are in memory. */
struct place {
  uint8_t *base;        /* what addresses of the library's file are relative to */
  const char *library;  /* its path in the environment; valid until the next call */
};
int find_place(const uint8_t *address, struct place *place);

/* Put the function at `address` back and fill in `call`; `call->library` is null when another
 * thread has done so meanwhile. Returns 0 when nothing was removed there. Ends the program with a
 * message when its original bytes are not to be had. The lock is held. */
int put_back_at(uint8_t *address, struct removed_call *call);

/* Record a call and do what the behaviour asks for. The lock is held. */
void start_events(void);
void note_call(const struct removed_call *call);
/* Fill in a message about the calls since the last one; 0 when there were none. The lock is free. */
int message_of_calls(char *text, size_t text_bytes);
/* A forked child begins anew. */
void forget_calls(void);

/* Let the main thread raise the message; 0 in a program without Python. */
int raise_in_python(void);

__attribute__((noreturn, format(printf, 1, 2))) void give_up(const char *format, ...);

/* One thread at a time, with all signals held off. */
void take_lock(sigset_t *before);
void release_lock(const sigset_t *before);

void catch_signals(void);

#endif
