/* trimtab-file-tracer RECORD -- COMMAND ARGUMENTS...
 *
 * Runs a command and records which files all of its processes use. A seccomp filter stops the
 * threads at the calls that concern files and at no others; ptrace reads what they ask for.
 * It ends as the command does, by the same signal too.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "accesses.h"
#include "exit_status.h"
#include "launch.h"
#include "processes.h"
#include "record.h"

static void resume(const struct tracee *tracee, int signal) {
    /* Fails only when the thread was killed meanwhile, which waitpid tells. */
    ptrace(tracee->call ? PTRACE_SYSCALL : PTRACE_CONT, tracee->tid, NULL, signal);
}

static void at_filter(struct tracee *tracee) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof info, &info) < 0) return;
    const struct call *call = call_of(info.seccomp.nr);
    if (info.seccomp.ret_data == STOP_FOREIGN)
        record_incomplete("process %d made 32-bit system calls, which are not recorded",
                          tracee->tgid);
    else if (call)
        call_entered(tracee, call, (const uint64_t *)info.seccomp.args);
}

static void at_result(struct tracee *tracee) {
    struct __ptrace_syscall_info info;
    if (!tracee->call) return;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof info, &info) < 0)
        forget_call(tracee);
    else
        call_returned(tracee, info.exit.rval);
}

static void at_exec(struct tracee *tracee) {
    unsigned long former = 0;
    ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &former);
    /* A thread that runs another program takes the id of its process. */
    struct tracee *caller = tracee_of((pid_t)former);
    program_started(tracee, caller ? caller : tracee);
    if (caller && caller != tracee) forget_tracee(caller);
    process_runs(tracee);
}

static void at_new_child(struct tracee *tracee) {
    unsigned long child = 0;
    /* Learnt of while its parent stands still, so that it is known who that is. */
    if (!ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &child)) learn_of((pid_t)child);
}

static void stopped(pid_t tid, int status) {
    struct tracee *tracee = tracee_of(tid);
    if (!tracee) tracee = learn_of(tid);
    int signal = WSTOPSIG(status);
    switch (status >> 16) {
        case PTRACE_EVENT_SECCOMP: at_filter(tracee); break;
        case PTRACE_EVENT_EXEC: at_exec(tracee); break;
        case PTRACE_EVENT_FORK:
        case PTRACE_EVENT_VFORK:
        case PTRACE_EVENT_CLONE: at_new_child(tracee); break;
        case PTRACE_EVENT_STOP:
            if (signal != SIGTRAP) { /* stopped by a signal, until SIGCONT */
                ptrace(PTRACE_LISTEN, tid, NULL, 0);
                return;
            }
            break;
        default:
            if (signal != (SIGTRAP | 0x80)) { /* a signal for the program */
                resume(tracee, signal);
                return;
            }
            at_result(tracee);
    }
    resume(tracee, 0);
}

enum { STRAGGLERS_S = 2 }; /* as long as an untraced run waits for them */

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Trace until no process is left, those that outlive the command being killed after a while; the
 * wait status of the command's own process. */
static int trace(pid_t command) {
    int status, command_status = 0;
    double killed_at = 0;
    for (;;) {
        pass_on_termination();
        if (killed_at > 0 && now_s() >= killed_at) signal_processes(SIGKILL);
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR) continue;
        if (tid < 0) return command_status;
        if (WIFSTOPPED(status)) {
            stopped(tid, status);
            continue;
        }
        if (tid == command) {
            const struct itimerval often = {{0, 100000}, {0, 100000}};
            command_status = status;
            killed_at = now_s() + STRAGGLERS_S;
            setitimer(ITIMER_REAL, &often, NULL); /* wakes waitpid */
        }
        thread_ended(tid, status);
    }
}

static void end_by(int signal) {
    const struct rlimit none = {0, 0};
    sigset_t all;
    setrlimit(RLIMIT_CORE, &none); /* the command has left its own */
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    kill(getpid(), signal);
}

int main(int argc, char **argv) {
    if (argc < 4 || strcmp(argv[2], "--")) {
        fprintf(stderr, "usage: trimtab-file-tracer RECORD -- COMMAND ARGUMENTS...\n");
        return TRACER_FAILED;
    }
    if (!record_open(argv[1])) err(TRACER_FAILED, "%s", argv[1]);
    pid_t command = launch(argv + 3);
    int status = trace(command);
    int failure = launch_failure(argv[3]);
    int exit_status = failure                ? failure
                      : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                            : WEXITSTATUS(status);
    if (!record_close(exit_status)) {
        warn("%s: the record is incomplete", argv[1]);
        return TRACER_FAILED;
    }
    if (!failure && WIFSIGNALED(status)) end_by(WTERMSIG(status));
    return exit_status;
}
