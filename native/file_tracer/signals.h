/* Signals for the tracer: a request to end, or a stop of a traced thread. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>

/* Block all signals, as one between fork and exec would be lost; `before` receives the previous
 * mask. */
void hold_signals(sigset_t *before);

/* Block the signals of `before` and those of the tracer: SIGCHLD, SIGALRM, and requests to end
 * (SIGINT, SIGTERM, SIGHUP, SIGQUIT), unless ignored. Returns the descriptor that reports them. */
int catch_signals(const sigset_t *before);

/* Take the pending signals. */
void take_signals(void);

/* If the tracer was asked to end since: pass that on to all traced processes; the second time, kill
 * them. */
void pass_on_termination(void);

#endif
