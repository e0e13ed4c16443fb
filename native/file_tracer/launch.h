/* Starting the command under the tracer, and ending it before its time. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Start the command, with `signals` blocked, so that no access after its exec is missed; ends the
 * tracer on failure. */
pid_t launch(char **command, const sigset_t *signals);

/* Whether the command has its filter now, which it has before its exec; `listener` becomes the
 * filter's, or -1 where it has none. */
bool take_listener(int *listener);

/* After the end: 0 when the command was started, else the exit status that says why not, with
 * the error written to the record and to standard error. */
int launch_failure(const char *name);

#endif
