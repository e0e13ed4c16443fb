#define _GNU_SOURCE
#include "launch.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exit_status.h"
#include "filter.h"
#include "processes.h"
#include "record.h"

enum step { FILTERING, FILTERED, EXECUTING };
struct report {
    enum step step;
    int error;
};

static int reports; /* a socket for the child's progress until its exec */

/* Send a report, with `descriptor` if there is one. */
static void tell(int socket, enum step step, int error, int descriptor) {
    struct report report = {step, error};
    struct iovec text = {&report, sizeof report};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof descriptor)];
    } control = {.header = {CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
    }
    if (sendmsg(socket, &message, 0) < 0) _exit(TRACER_FAILED);
}

/* The next report and its descriptor or -1; false if there is none now. */
static bool hear(struct report *report, int *descriptor) {
    struct iovec text = {report, sizeof *report};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof *descriptor)];
    } control;
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t size = recvmsg(reports, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size != sizeof *report) return false;
    *descriptor = -1;
    if (CMSG_FIRSTHDR(&message))
        memcpy(descriptor, CMSG_DATA(&control.header), sizeof *descriptor);
    return true;
}

static void run(char **command, int traced, int reports_to) {
    char byte;
    int listener;
    if (read(traced, &byte, 1) != 1) _exit(TRACER_FAILED); /* the tracer gave up */
    if (install_filter(&listener)) {
        tell(reports_to, FILTERED, 0, listener);
        execvp(command[0], command);
        tell(reports_to, EXECUTING, errno, -1);
    } else {
        tell(reports_to, FILTERING, errno, -1);
    }
    _exit(TRACER_FAILED);
}

pid_t launch(char **command, const sigset_t *signals) {
    int traced[2], report[2];
    if (pipe2(traced, O_CLOEXEC) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report))
        err(TRACER_FAILED, "trimtab-file-tracer");
    pid_t child = fork();
    if (child < 0) err(TRACER_FAILED, "trimtab-file-tracer: cannot start a process");
    if (!child) {
        sigprocmask(SIG_SETMASK, signals, NULL);
        close(traced[1]), close(report[0]);
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
    if (write(traced[1], "", 1) != 1) err(TRACER_FAILED, "trimtab-file-tracer");
    close(traced[0]), close(traced[1]), close(report[1]);
    reports = report[0];
    return child;
}

bool take_listener(int *listener) {
    struct report report;
    return hear(&report, listener) && report.step == FILTERED;
}

int launch_failure(const char *name) {
    struct report failure;
    char text[512];
    int listener;
    do {
        if (!hear(&failure, &listener)) return 0;
    } while (failure.step == FILTERED);
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
