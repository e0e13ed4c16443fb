/* Starting the command under the tracer, and ending it before its time. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <sys/types.h>

/* Start the command so that no access after its exec is missed; ends the tracer on failure. */
pid_t launch(char **command);

/* After the end: 0 when the command was started, else the exit status that says why not, with
 * the error written to the record and to standard error. */
int launch_failure(const char *name);

/* If the tracer was asked to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT): pass that on to all traced
 * processes; the second time, kill them. */
void pass_on_termination(void);

#endif
