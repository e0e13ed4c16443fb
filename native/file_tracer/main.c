/* trimtab-file-tracer RECORD -- COMMAND ARGUMENTS...
 *
 * Runs a command and records the files that its processes use. A seccomp filter stops the threads
 * only at system calls on files; ptrace reads their arguments. It ends as the command does, even by
 * the same signal.
 */
#define _GNU_SOURCE
#include <err.h>
#include <poll.h>
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
#include "filter.h"
#include "launch.h"
#include "processes.h"
#include "questions.h"
#include "record.h"
#include "signals.h"
#include "witness.h"

static void resume(const struct tracee *tracee, int signal) {
    /* Fails only if the thread was killed meanwhile, which waitpid reports. */
    ptrace(tracee->call ? PTRACE_SYSCALL : PTRACE_CONT, tracee->tid, NULL, signal);
}

/* A process that its own parent wants to trace is stopped, and waits for a parent that never learns
 * of it. */
static const char tracing_itself[] =
    "a process of it is traced by the program itself (ptrace): files cannot be traced";
static bool given_up;

static void give_up(void) {
    given_up = true;
    record_incomplete("%s", tracing_itself);
    signal_processes(SIGKILL);
}

/* The call is, or may be, clone or clone3 with CLONE_UNTRACED: trace the child all the same.
 * Untraced it could use no file, as the filter stays without a tracer. */
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
    bool foreign = info.seccomp.ret_data == STOP_FOREIGN;
    tracee->foreign |= foreign;
    if (foreign)
        record_incomplete("process %d made 32-bit system calls, which are not recorded",
                          tracee->tgid);
    else if (call == call_of(SYS_ptrace) && info.seccomp.args[0] == PTRACE_TRACEME)
        tracee->to_be_traced = true;
    else if (info.seccomp.nr == SYS_clone || info.seccomp.nr == SYS_clone3)
        keep_child_traced(tracee, info.seccomp.nr, info.seccomp.args[0]);
    if (!foreign && call)
        call_entered(tracee, call, (const uint64_t *)info.seccomp.args, info.instruction_pointer);
}

static void at_result(struct tracee *tracee) {
    struct __ptrace_syscall_info info;
    if (!tracee->call) return;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof info, &info) < 0)
        forget_call(tracee);
    else
        call_returned(tracee, info.exit.rval);
}

/* The kernel's values; no header of the C library has them. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513 };

/* A signal may end the wait for an answer before the question arrives (seccomp_unotify(2)). The
 * call has not begun then. Restart it as if it came after the signal: a handler without SA_RESTART
 * would make it fail with EINTR, which a look-up never does. */
static void ask_again(const struct tracee *tracee) {
    struct user_regs_struct now;
    if (tracee->foreign || ptrace(PTRACE_GETREGS, tracee->tid, NULL, &now)) return;
    if ((long)now.rax != -ERESTARTSYS) return;
    const uint64_t arguments[] = {now.rdi, now.rsi, now.rdx, now.r10, now.r8, now.r9};
    const struct call *call = call_of(now.orig_rax);
    if (call && is_foreseeable(call) && !may_wait(tracee, call, arguments))
        ptrace(PTRACE_POKEUSER, tracee->tid, offsetof(struct user_regs_struct, rax),
               (long)-ERESTARTNOINTR);
}

static void at_exec(struct tracee *tracee) {
    unsigned long former = 0;
    ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &former);
    /* A thread that executes another program takes the id of its process. */
    struct tracee *caller = tracee_of((pid_t)former);
    program_started(tracee, caller ? caller : tracee);
    if (caller && caller != tracee) forget_tracee(caller);
    process_runs(tracee);
}

static void at_new_child(struct tracee *tracee) {
    unsigned long child = 0;
    /* Read while the parent is stopped, so that the parent is known. */
    if (ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &child) || tracee_of((pid_t)child)) return;
    struct tracee *learnt = learn_of_child((pid_t)child);
    if (learnt) learnt->origins = tracee->origins; /* it begins with the same code */
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
                ask_again(tracee);
                resume(tracee, signal);
                return;
            }
            at_result(tracee);
    }
    resume(tracee, 0);
}

enum { STRAGGLERS_S = 2 }; /* as long as an untraced run waits for them */

/* Waking up for each event would cost the run time (docs/methods/file-tracing.md). Meanwhile events
 * wait in the kernel, which merges equal ones. */
enum { HEARD_EVERY_MS = 200 };

struct run {
    pid_t command;
    int status;       /* of its end */
    double killed_at; /* the time to kill processes that outlive it; 0 while it runs */
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Note the end of a thread. The processes that outlive the command get some time. */
static void ended(struct run *run, pid_t tid, int status) {
    if (tid == run->command) {
        const struct itimerval often = {{0, 100000}, {0, 100000}};
        run->status = status;
        run->killed_at = now_s() + STRAGGLERS_S;
        setitimer(ITIMER_REAL, &often, NULL);
    }
    thread_ended(tid, status);
}

/* Handle one stop or end of a thread, if there is one. */
static enum { NONE_LEFT, NONE_NOW, TAKEN } take_stop(struct run *run) {
    int status;
    pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
    if (tid < 0) return NONE_LEFT;
    if (!tid) return NONE_NOW;
    if (WIFSTOPPED(status))
        stopped(tid, status);
    else
        ended(run, tid, status);
    return TAKEN;
}

static void take_question(void) {
    struct question question;
    if (!next_question(&question)) return;
    const struct call *call = call_of((unsigned)question.number);
    if (call) call_foreseen(learn_of(question.tid), call, question.arguments, question.instruction);
    let_run(&question);
}

/* Trace until no process is left; those that outlive the command are killed after some time. */
static void trace(struct run *run, int signals, bool witness) {
    enum { SIGNALS, QUESTIONS, SOURCES };
    struct pollfd sources[SOURCES] = {{.fd = signals, .events = POLLIN},
                                      {.fd = -1, .events = POLLIN}};
    double heard_at = now_s();
    /* The first may have come before signals were caught. */
    bool listening = false, stops = true;
    for (;;) {
        /* Alternate, so that neither stops nor questions wait for the end of the other. */
        if (poll(sources, SOURCES, stops ? 0 : witness ? HEARD_EVERY_MS : -1) < 0) continue;
        if (sources[SIGNALS].revents) {
            take_signals();
            pass_on_termination();
            stops = true;
        }
        if (given_up) signal_processes(SIGKILL); /* including processes started since */
        if (run->killed_at > 0 && now_s() >= run->killed_at) signal_processes(SIGKILL);
        if (stops) {
            int taken = take_stop(run);
            if (taken == NONE_LEFT) return;
            stops = taken == TAKEN;
            if (!listening && take_listener(&sources[QUESTIONS].fd)) {
                listening = true;
                if (sources[QUESTIONS].fd >= 0) listen_to(sources[QUESTIONS].fd);
            }
        }
        if (sources[QUESTIONS].revents & POLLIN)
            take_question();
        else if (sources[QUESTIONS].revents)
            sources[QUESTIONS].fd = -1; /* no process is left that could ask */
        if (witness && now_s() - heard_at >= HEARD_EVERY_MS / 1e3) {
            hear_witness();
            heard_at = now_s();
        }
    }
}

static void end_by(int signal) {
    const struct rlimit none = {0, 0};
    sigset_t only;
    setrlimit(RLIMIT_CORE, &none); /* the command left its own core */
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigemptyset(&only); /* the timer's signal may be pending */
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    kill(getpid(), signal);
}

int main(int argc, char **argv) {
    if (argc < 4 || strcmp(argv[2], "--")) {
        fprintf(stderr, "usage: trimtab-file-tracer RECORD -- COMMAND ARGUMENTS...\n");
        return TRACER_FAILED;
    }
    if (!record_open(argv[1])) err(TRACER_FAILED, "%s", argv[1]);
    sigset_t signals;
    hold_signals(&signals);
    bool witness = call_witness();
    struct run run = {.command = launch(argv + 3, &signals)};
    trace(&run, catch_signals(&signals), witness);
    record_witness();
    int status = run.status;
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
