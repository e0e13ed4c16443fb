#include "processes.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "paths.h"
#include "record.h"

enum { MAXIMUM_PID = 1 << 22 }; /* PID_MAX_LIMIT of 64-bit Linux */

static struct tracee *tracees[MAXIMUM_PID + 1];
static bool ever[MAXIMUM_PID + 1]; /* reports may come after their end */
static bool started; /* the command's first exec is done */

static struct tracee *add(pid_t tid, pid_t tgid) {
    struct tracee *tracee = new_zeroed(1, sizeof *tracee);
    *tracee = (struct tracee){.tid = tid, .tgid = tgid};
    ever[tid] = ever[tgid] = true;
    return tracees[tid] = tracee;
}

bool was_traced(pid_t pid) { return pid > 0 && pid <= MAXIMUM_PID && ever[pid]; }

void add_command(pid_t pid) { know_all_origins(&add(pid, pid)->origins); }

struct tracee *tracee_of(pid_t tid) {
    return tid > 0 && tid <= MAXIMUM_PID ? tracees[tid] : NULL;
}

static bool differs(pid_t pid, const char *name) {
    char theirs[64], ours[64];
    struct stat their_status, our_status;
    snprintf(theirs, sizeof theirs, "/proc/%d/%s", pid, name);
    snprintf(ours, sizeof ours, "/proc/self/%s", name);
    return !stat(theirs, &their_status) && !stat(ours, &our_status) &&
           (their_status.st_dev != our_status.st_dev || their_status.st_ino != our_status.st_ino);
}

static void record_new_process(pid_t pid, pid_t parent) {
    char executable[PATH_BYTES];
    record_process(pid, parent, process_link(pid, "exe", executable) ? executable : "");
    if (differs(pid, "root") || differs(pid, "ns/mnt"))
        record_incomplete("process %d sees other files than the tracer (chroot, namespace)", pid);
}

/* A thread's state in /proc; a thread that has ended and was reaped has no tracer. */
struct thread {
    pid_t process, parent, tracer;
};

static struct thread thread_in_proc(pid_t tid) {
    struct thread thread = {.process = tid};
    char name[64], line[256];
    snprintf(name, sizeof name, "/proc/%d/status", tid);
    FILE *status = fopen(name, "re");
    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "Tgid: %d", &thread.process);
        sscanf(line, "PPid: %d", &thread.parent);
        if (sscanf(line, "TracerPid: %d", &thread.tracer) == 1) break;
    }
    if (status) fclose(status);
    return thread;
}

static struct tracee *add_thread(pid_t tid, const struct thread *thread) {
    if (thread->process == tid) record_new_process(tid, thread->parent);
    return add(tid, thread->process);
}

struct tracee *learn_of(pid_t tid) {
    struct tracee *tracee = tracee_of(tid);
    if (tracee) return tracee;
    struct thread thread = thread_in_proc(tid);
    return add_thread(tid, &thread);
}

struct tracee *learn_of_child(pid_t tid) {
    struct thread thread = thread_in_proc(tid);
    return thread.tracer == getpid() ? add_thread(tid, &thread) : NULL;
}

void forget_tracee(struct tracee *tracee) {
    forget_call(tracee);
    tracees[tracee->tid] = NULL;
    free(tracee);
}

void process_runs(const struct tracee *tracee) {
    char executable[PATH_BYTES];
    if (!started) {
        started = true;
        record_new_process(tracee->tgid, getpid());
        return;
    }
    record_exec(tracee->tgid, process_link(tracee->tgid, "exe", executable) ? executable : "");
}

void thread_ended(pid_t tid, int wait_status) {
    struct tracee *tracee = tracee_of(tid);
    if (!tracee) return;
    if (tracee->tgid == tid && started) record_ended(tid, wait_status);
    forget_tracee(tracee);
}

void signal_processes(int signal) {
    for (pid_t pid = 1; pid <= MAXIMUM_PID; pid++)
        if (tracees[pid] && tracees[pid]->tgid == pid) kill(pid, signal);
}
