#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "calls.h"

enum { X32_BIT = 0x40000000 };

#define FIELD(name) offsetof(struct seccomp_data, name)
#define LOW_WORD(argument) (FIELD(args) + 8 * (argument))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
/* Jumps count the instructions to skip if true and if false. */
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)

static const struct sock_filter head[] = {
    LOAD(FIELD(arch)),
    EQUAL(AUDIT_ARCH_X86_64, 1, 0),
    RETURN(SECCOMP_RET_TRACE | STOP_FOREIGN),
    LOAD(FIELD(nr)),
    ANY_BIT(X32_BIT, 0, 1),
    RETURN(SECCOMP_RET_TRACE | STOP_FOREIGN),

    EQUAL(SYS_mmap, 0, 6),
    LOAD(LOW_WORD(3)),
    ANY_BIT(MAP_ANONYMOUS, 2, 0),
    LOAD(LOW_WORD(4)),
    ANY_BIT(0x80000000, 0, 1), /* a negative descriptor */
    RETURN(SECCOMP_RET_ALLOW),
    RETURN(SECCOMP_RET_TRACE | STOP_CALL),

    EQUAL(SYS_clone, 0, 4),
    LOAD(LOW_WORD(0)),
    ANY_BIT(CLONE_UNTRACED, 0, 1),
    RETURN(SECCOMP_RET_TRACE | STOP_CALL),
    RETURN(SECCOMP_RET_ALLOW),

    EQUAL(SYS_clone3, 0, 1), /* its flags are in memory */
    RETURN(SECCOMP_RET_TRACE | STOP_CALL),

    /* Files that are used through io_uring are not seen: programs do without, as on older kernels. */
    EQUAL(SYS_io_uring_setup, 0, 1),
    RETURN(SECCOMP_RET_ERRNO | ENOSYS),

    EQUAL(SYS_unshare, 0, 4),
    LOAD(LOW_WORD(0)),
    ANY_BIT(CLONE_NEWNS, 0, 1),
    RETURN(SECCOMP_RET_TRACE | STOP_CALL),
    RETURN(SECCOMP_RET_ALLOW),
};

static const size_t head_count = sizeof head / sizeof *head;

bool install_filter(void) {
    struct sock_filter instructions[head_count + 2 * call_count + 1];
    struct sock_fprog program = {0, instructions};
    for (size_t i = 0; i < head_count; i++) instructions[program.len++] = head[i];
    for (size_t number = 0; number < call_count; number++) {
        if (!call_of(number)) continue;
        instructions[program.len++] = (struct sock_filter)EQUAL((unsigned)number, 0, 1);
        instructions[program.len++] =
            (struct sock_filter)RETURN(SECCOMP_RET_TRACE | STOP_CALL);
    }
    instructions[program.len++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return true;
    if (errno != EACCES) return false;
    /* Without the privilege to filter setuid programs, they must give theirs up. */
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
