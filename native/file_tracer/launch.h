/* Start the command under the tracer, and detect a failed start. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Start the command, with `signals` blocked, so that no access after its exec is missed; ends the
 * tracer on failure. */
pid_t launch(char **command, const sigset_t *signals);

/* Whether the command now has its filter, which comes before its exec; `listener` becomes the
 * filter's, or -1 without one. */
bool take_listener(int *listener);

/* After the end: 0 if the command was started, otherwise the exit status for the failure, with the
 * error written to the record and to standard error. */
int launch_failure(const char *name);

#endif
