/* trimtab-file-tracer RECORD -- COMMAND ARGUMENTS...
 *
 * Runs a command and records which files all of its processes use. A seccomp filter stops the
 * threads at the calls that concern files and at no others; ptrace reads what they ask for.
 * It ends as the command does, by the same signal too.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "accesses.h"
#include "calls.h"
#include "exit_status.h"
#include "launch.h"
#include "processes.h"
#include "record.h"

static void resume(const struct tracee *tracee, int signal) {
    /* Fails only when the thread was killed meanwhile, which waitpid tells. */
    ptrace(tracee->call ? PTRACE_SYSCALL : PTRACE_CONT, tracee->tid, NULL, signal);
}

/* A process that is to be traced by its own parent waits, stopped, for what that never learns of. */
static const char tracing_itself[] =
    "a process of it is traced by the program itself (ptrace): files cannot be traced";
static bool given_up;

static void give_up(void) {
    given_up = true;
    record_incomplete("%s", tracing_itself);
    signal_processes(SIGKILL);
}

/* The call is clone or clone3 with CLONE_UNTRACED, or may be: what it starts is traced all the same.
 * Left alone it could use no file, for the filter stays and has nobody to ask. */
static void keep_child_traced(struct tracee *tracee, uint64_t number, uint64_t argument) {
    uint64_t flags = argument;
    struct iovec here = {&flags, sizeof flags}, there = {(void *)(uintptr_t)argument, sizeof flags};
    bool changed;
    if (number == SYS_clone3 && process_vm_readv(tracee->tid, &here, 1, &there, 1, 0) < 0) return;
    if (!(flags & CLONE_UNTRACED)) return;
    flags &= ~(uint64_t)CLONE_UNTRACED;
    if (number == SYS_clone3)
        changed = process_vm_writev(tracee->tid, &here, 1, &there, 1, 0) == sizeof flags;
    else
        changed = !ptrace(PTRACE_POKEUSER, tracee->tid, offsetof(struct user_regs_struct, rdi),
                          flags);
    if (!changed)
        record_incomplete("process %d started a process that refuses to be traced", tracee->tgid);
}

static void at_filter(struct tracee *tracee) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof info, &info) < 0) return;
    const struct call *call = call_of(info.seccomp.nr);
    if (info.seccomp.ret_data == STOP_FOREIGN)
        record_incomplete("process %d made 32-bit system calls, which are not recorded",
                          tracee->tgid);
    else if (call == call_of(SYS_ptrace) && info.seccomp.args[0] == PTRACE_TRACEME)
        tracee->to_be_traced = true;
    else if (info.seccomp.nr == SYS_clone || info.seccomp.nr == SYS_clone3)
        keep_child_traced(tracee, info.seccomp.nr, info.seccomp.args[0]);
    if (info.seccomp.ret_data != STOP_FOREIGN && call)
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
                if (tracee->to_be_traced) give_up();
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
        if (given_up) signal_processes(SIGKILL); /* what has been started since, too */
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
    if (given_up) {
        warnx("%s", tracing_itself);
        failure = TRACER_FAILED;
    }
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
