#define _GNU_SOURCE
#include "questions.h"

#include <err.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exit_status.h"
#include "memory.h"

/* Newer than the oldest supported headers (Linux 6.6). */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

/* A thread counts as the only asking one after so many consecutive questions. */
enum { IN_TURN = 16 };

static int source;
static pid_t asking;
static unsigned in_turn;
static size_t request_size, response_size; /* the kernel's, which may be larger than ours */
static struct seccomp_notif *request;
static struct seccomp_notif_resp *response;

static size_t larger(size_t ours, size_t theirs) { return ours > theirs ? ours : theirs; }

void listen_to(int listener) {
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes))
        err(TRACER_FAILED, "trimtab-file-tracer: seccomp");
    source = listener;
    request_size = larger(sizeof *request, sizes.seccomp_notif);
    response_size = larger(sizeof *response, sizes.seccomp_notif_resp);
    request = new_zeroed(1, request_size);
    response = new_zeroed(1, response_size);
}

/* Asker and answerer share one processor, as only one of them works at a time. Not if several
 * threads ask, which would all move to that processor. */
static void share_processor(pid_t tid) {
    unsigned before = in_turn;
    in_turn = tid == asking ? in_turn + 1 : 0;
    asking = tid;
    if (in_turn == IN_TURN)
        ioctl(source, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    else if (!in_turn && before >= IN_TURN)
        ioctl(source, SECCOMP_IOCTL_NOTIF_SET_FLAGS, 0);
}

bool next_question(struct question *question) {
    memset(request, 0, request_size); /* the kernel requires it */
    if (ioctl(source, SECCOMP_IOCTL_NOTIF_RECV, request)) return false;
    *question = (struct question){request->id, (pid_t)request->pid, request->data.nr,
                                  (const uint64_t *)request->data.args,
                                  request->data.instruction_pointer};
    share_processor(question->tid);
    return true;
}

void let_run(const struct question *question) {
    memset(response, 0, response_size);
    response->id = question->id;
    response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    /* Fails only if the thread was killed, or was interrupted and will ask again. */
    ioctl(source, SECCOMP_IOCTL_NOTIF_SEND, response);
}
