#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"

/* Newer than the oldest supported headers. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { X32_BIT = 0x40000000, MOST_FOR_A_CALL = 5 };

#define FIELD(name) offsetof(struct seccomp_data, name)
#define LOW_WORD(argument) (FIELD(args) + 8 * (argument))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define STOP RETURN(SECCOMP_RET_TRACE | STOP_CALL)
/* The last two numbers are the instructions to skip if true and if false. */
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)

static const struct sock_filter head[] = {
    LOAD(FIELD(arch)),
    EQUAL(AUDIT_ARCH_X86_64, 1, 0),
    RETURN(SECCOMP_RET_TRACE | STOP_FOREIGN),
    LOAD(FIELD(nr)),
    ANY_BIT(X32_BIT, 0, 1),
    RETURN(SECCOMP_RET_TRACE | STOP_FOREIGN),

    EQUAL(SYS_mmap, 0, 6), /* of a file goes on to the table */
    LOAD(LOW_WORD(3)),
    ANY_BIT(MAP_ANONYMOUS, 2, 0),
    LOAD(LOW_WORD(4)),
    ANY_BIT(0x80000000, 0, 1), /* a negative descriptor */
    RETURN(SECCOMP_RET_ALLOW),
    LOAD(FIELD(nr)),

    EQUAL(SYS_clone, 0, 4),
    LOAD(LOW_WORD(0)),
    ANY_BIT(CLONE_UNTRACED, 0, 1),
    STOP,
    RETURN(SECCOMP_RET_ALLOW),

    EQUAL(SYS_clone3, 0, 1), /* its flags are in memory */
    STOP,

    /* Uses of files through io_uring are not visible: refuse it, and programs do without, as on
     * older kernels. */
    EQUAL(SYS_io_uring_setup, 0, 1),
    RETURN(SECCOMP_RET_ERRNO | ENOSYS),

    EQUAL(SYS_unshare, 0, 4),
    LOAD(LOW_WORD(0)),
    ANY_BIT(CLONE_NEWNS, 0, 1),
    STOP,
    RETURN(SECCOMP_RET_ALLOW),
};

static const size_t head_count = sizeof head / sizeof *head;

/* Append the action for system call `number` to `program`; `ask` is for foreseeable calls. */
static void add_call(struct sock_fprog *program, unsigned number, struct sock_filter ask) {
    const struct call *call = call_of(number);
    struct sock_filter *next = program->filter + program->len;
    if (call->kind == OPEN && call->flags) {
        *next++ = (struct sock_filter)EQUAL(number, 0, 4);
        *next++ = (struct sock_filter)LOAD(LOW_WORD(call->flags - 1));
        *next++ = (struct sock_filter)ANY_BIT(O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 0, 1);
        *next++ = (struct sock_filter)STOP;
        *next++ = ask;
    } else {
        *next++ = (struct sock_filter)EQUAL(number, 0, 1);
        *next++ = is_foreseeable(call) ? ask : (struct sock_filter)STOP;
    }
    program->len = next - program->filter;
}

/* The result of seccomp(2) with a filter that answers foreseeable calls by `ask`. */
static int install(unsigned ask, unsigned flags) {
    struct sock_filter instructions[head_count + MOST_FOR_A_CALL * call_count + 1];
    struct sock_fprog program = {head_count, instructions};
    for (size_t i = 0; i < head_count; i++) instructions[i] = head[i];
    for (size_t number = 0; number < call_count; number++)
        if (call_of(number)) add_call(&program, number, (struct sock_filter)RETURN(ask));
    instructions[program.len++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    int result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (result >= 0 || errno != EACCES) return result;
    /* Without the privilege to filter setuid programs, they must lose theirs. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

bool install_filter(int *listener) {
    *listener = install(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER |
                                                    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    return *listener >= 0 || !install(SECCOMP_RET_TRACE | STOP_CALL, 0);
}
