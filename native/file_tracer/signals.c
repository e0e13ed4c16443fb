#include "signals.h"

#include <err.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "exit_status.h"
#include "processes.h"
#include "record.h"

static const int termination[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { TERMINATIONS = sizeof termination / sizeof *termination };

static int source;
static int requested, request_count;
static bool from_terminal;

void hold_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, before);
}

int catch_signals(const sigset_t *before) {
    sigset_t caught;
    struct sigaction action = {.sa_handler = SIG_DFL}, inherited;
    sigemptyset(&caught);
    sigaddset(&caught, SIGALRM), sigaddset(&caught, SIGCHLD);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGCHLD, &action, NULL);
    for (int i = 0; i < TERMINATIONS; i++)
        if (!sigaction(termination[i], NULL, &inherited) && inherited.sa_handler != SIG_IGN)
            sigaddset(&caught, termination[i]);
    source = signalfd(-1, &caught, SFD_NONBLOCK | SFD_CLOEXEC);
    if (source < 0) err(TRACER_FAILED, "trimtab-file-tracer: signalfd");
    sigprocmask(SIG_SETMASK, before, NULL);
    sigprocmask(SIG_BLOCK, &caught, NULL);
    return source;
}

void take_signals(void) {
    struct signalfd_siginfo signal;
    while (read(source, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGALRM || signal.ssi_signo == SIGCHLD) continue;
        /* The traced processes get signals typed at a terminal themselves. */
        from_terminal = signal.ssi_code == SI_KERNEL;
        requested = (int)signal.ssi_signo;
        request_count++;
    }
}

void pass_on_termination(void) {
    if (!requested) return;
    int signal = requested;
    requested = 0;
    record_incomplete("the tracer was told to end by signal %d (%s)", signal, strsignal(signal));
    if (!from_terminal) signal_processes(request_count > 1 ? SIGKILL : signal);
}
