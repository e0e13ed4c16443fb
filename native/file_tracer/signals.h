/* What signals tell the tracer: that it is asked to end, or that a traced thread has stopped. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>

/* Block all signals, as one between fork and exec would be lost; `before` becomes those that were. */
void hold_signals(sigset_t *before);

/* Block those of `before` and what the tracer hears of: SIGCHLD, SIGALRM, and what asks it to end
 * (SIGINT, SIGTERM, SIGHUP, SIGQUIT), unless that is ignored. The descriptor that says one came. */
int catch_signals(const sigset_t *before);

/* Take the signals that have come. */
void take_signals(void);

/* If the tracer was asked to end since: pass that on to all traced processes; the second time, kill
 * them. */
void pass_on_termination(void);

#endif
