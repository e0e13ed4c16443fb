#define _GNU_SOURCE
#include "launch.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "calls.h"
#include "exit_status.h"
#include "processes.h"
#include "record.h"

enum step { FILTERING, EXECUTING };
struct failure {
    enum step step;
    int error;
};

static const int termination[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { TERMINATIONS = sizeof termination / sizeof *termination };

static int failures; /* what the child could not do comes through this pipe */
static volatile sig_atomic_t requested, request_count, from_terminal;

static void on_request(int signal, siginfo_t *info, void *context) {
    (void)context;
    /* Of those typed at a terminal the traced processes get their own. */
    from_terminal = info->si_code == SI_KERNEL;
    requested = signal;
    request_count++;
    alarm(1); /* should waitpid begin just now, unaware */
}

static void on_alarm(int signal) { (void)signal; }

static void catch_requests(void) {
    struct sigaction action = {.sa_sigaction = on_request, .sa_flags = SA_SIGINFO}, before;
    for (int i = 0; i < TERMINATIONS; i++) {
        sigaction(termination[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) sigaction(termination[i], &action, NULL);
    }
    action = (struct sigaction){.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
}

void pass_on_termination(void) {
    if (!requested) return;
    int signal = requested;
    requested = 0;
    record_incomplete("the tracer was told to end by signal %d (%s)", signal, strsignal(signal));
    if (!from_terminal) signal_processes(request_count > 1 ? SIGKILL : signal);
}

static void run(char **command, int traced, int report) {
    struct failure failure = {FILTERING, 0};
    char byte;
    if (read(traced, &byte, 1) != 1) _exit(TRACER_FAILED); /* the tracer gave up */
    if (install_filter()) {
        failure.step = EXECUTING;
        execvp(command[0], command);
    }
    failure.error = errno;
    ssize_t ignored = write(report, &failure, sizeof failure);
    (void)ignored;
    _exit(TRACER_FAILED);
}

pid_t launch(char **command) {
    int traced[2], report[2];
    sigset_t blocked, before;
    if (pipe2(traced, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
        err(TRACER_FAILED, "trimtab-file-tracer");
    /* A signal between fork and exec would be caught by the copy of the handler and lost. */
    sigfillset(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    pid_t child = fork();
    if (child < 0) err(TRACER_FAILED, "trimtab-file-tracer: cannot start a process");
    if (!child) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        close(traced[1]);
        run(command, traced[0], report[1]);
    }
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP |
                   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEEXEC;
    if (ptrace(PTRACE_SEIZE, child, NULL, options)) {
        record_error("ptrace is not permitted here; in a container, add the capability "
                     "SYS_PTRACE", TRACER_FAILED);
        err(TRACER_FAILED, "trimtab-file-tracer: cannot trace (containers: --cap-add SYS_PTRACE)");
    }
    add_command(child);
    catch_requests();
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (write(traced[1], "", 1) != 1) err(TRACER_FAILED, "trimtab-file-tracer");
    close(traced[0]), close(traced[1]), close(report[1]);
    failures = report[0];
    return child;
}

int launch_failure(const char *name) {
    struct failure failure;
    char text[512];
    if (read(failures, &failure, sizeof failure) != sizeof failure) return 0;
    if (failure.step == FILTERING) {
        snprintf(text, sizeof text, "cannot install a seccomp filter: %s", strerror(failure.error));
        record_error(text, TRACER_FAILED);
        warnx("%s", text);
        return TRACER_FAILED;
    }
    bool found = failure.error != ENOENT || (strchr(name, '/') && !access(name, F_OK));
    const char *why = !found                    ? "command not found"
                      : failure.error == ENOENT ? "the interpreter that it names was not found"
                                                : strerror(failure.error);
    snprintf(text, sizeof text, "%s: %s", name, why);
    record_error(text, found ? NOT_EXECUTABLE : NOT_FOUND);
    warnx("%s", text);
    return found ? NOT_EXECUTABLE : NOT_FOUND;
}
