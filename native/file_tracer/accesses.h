/* Turn the system calls of traced threads into uses of files. */
#ifndef ACCESSES_H
#define ACCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "calls.h"
#include "origins.h"

/* A path argument as an absolute path that may still hold `..` and links. */
struct target {
    char *path;
    unsigned uses;
    bool follow;
    bool absent; /* before a call that may create it */
};

struct tracee {
    pid_t tid, tgid;
    const struct call *call; /* whose result is awaited, or NULL */
    struct target targets[2];
    bool redirects; /* the call changes the targets of recorded paths */
    bool foreign;   /* it has made 32-bit system calls, which have other numbers */
    bool to_be_traced; /* it has asked its parent to trace it */
    struct origins origins;
};

/* A stop at the entry of a call, made before `instruction`. Sets `tracee->call` if the result is
 * needed. */
void call_entered(struct tracee *tracee, const struct call *call, const uint64_t arguments[6],
                  uint64_t instruction);

/* A foreseeable call is about to run: record all its uses now. */
void call_foreseen(struct tracee *tracee, const struct call *call, const uint64_t arguments[6],
                   uint64_t instruction);

/* Whether such a call may wait for another process, for example at the end of a pipe, and be ended
 * by a signal. */
bool may_wait(const struct tracee *tracee, const struct call *call, const uint64_t arguments[6]);

/* The result of `tracee->call`, negative for errors; ends the wait for it. */
void call_returned(struct tracee *tracee, int64_t result);

/* `tracee` runs another program, as thread `caller` (itself or another) asked. */
void program_started(struct tracee *tracee, struct tracee *caller);

void forget_call(struct tracee *tracee);

#endif
