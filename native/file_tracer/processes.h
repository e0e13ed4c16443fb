/* The traced threads and the processes they belong to. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

#include "accesses.h"

/* Add the command, which runs nothing worth recording before its exec. */
void add_command(pid_t pid);

/* The thread `tid`, or NULL if it is unknown. */
struct tracee *tracee_of(pid_t tid);

/* Whether `pid` is a thread or process of the run, or was one. */
bool was_traced(pid_t pid);

/* The thread `tid`, added if it is unknown; a new process is recorded. */
struct tracee *learn_of(pid_t tid);

/* The same for a child of a traced thread; NULL if it has ended. On a busy machine a child may live
 * and die before its parent is scheduled to report it. */
struct tracee *learn_of_child(pid_t tid);

void forget_tracee(struct tracee *tracee);

/* The process has just begun to execute another program. */
void process_runs(const struct tracee *tracee);

/* waitpid's status of a thread that is gone; a process ends with its first thread. */
void thread_ended(pid_t tid, int wait_status);

void signal_processes(int signal);

#endif
