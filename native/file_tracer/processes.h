/* The traced threads and the processes they belong to. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

#include "accesses.h"

/* The command, which runs nothing worth recording before its exec. */
void add_command(pid_t pid);

/* The thread `tid`, or NULL if it is not known. */
struct tracee *tracee_of(pid_t tid);

/* Whether `pid` is a thread or process of the run, or was one. */
bool was_traced(pid_t pid);

/* The thread `tid`, which is new if it is not known; a new process is recorded. */
struct tracee *learn_of(pid_t tid);

/* Likewise of what a traced thread has started, unless that has ended by now: on a busy machine a child
 * may live and die before its parent, which is not scheduled, comes to tell of it. NULL then. */
struct tracee *learn_of_child(pid_t tid);

void forget_tracee(struct tracee *tracee);

/* The process has just begun to run another program. */
void process_runs(const struct tracee *tracee);

/* What waitpid said of a thread that is gone; its process ends with its first thread. */
void thread_ended(pid_t tid, int wait_status);

void signal_processes(int signal);

#endif
