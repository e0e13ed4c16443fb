#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "../file_fallback/calls.h"
#include "../file_fallback/init.h"

/* Newer than the oldest supported headers. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { MOST_NUMBERS = 512, FOR_A_CALL = 2, ROOM = 512 };

#define FIELD(name) offsetof(struct seccomp_data, name)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
/* The last two numbers are the instructions to skip if true and if false. */
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)

/* Calls of 32-bit programs and of x32 have other numbers. */
static const struct sock_filter head[] = {
    LOAD(FIELD(arch)),
    EQUAL(AUDIT_ARCH_X86_64, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
    LOAD(FIELD(args[5])),
    EQUAL((uint32_t)NOT_ASKED, 0, 3),
    LOAD(FIELD(args[5]) + sizeof(uint32_t)),
    EQUAL(NOT_ASKED >> 32, 0, 1),
    RETURN(SECCOMP_RET_ALLOW),
    LOAD(FIELD(nr)),
    EQUAL(__NR_prctl, 0, 4),
    LOAD(FIELD(args)),
    EQUAL(ASK_FOR_INIT, 0, 1),
    RETURN(SECCOMP_RET_ERRNO), /* 0 */
    RETURN(SECCOMP_RET_ALLOW),
};

static long install(const struct sock_fprog *program) {
  unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  long result = KERNEL(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, program, 0);
  if (result != -EINVAL) return result;
  flags = SECCOMP_FILTER_FLAG_NEW_LISTENER; /* before Linux 5.19 */
  return KERNEL(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, program, 0);
}

long install_filter(void) {
  struct sock_filter instructions[ROOM];
  unsigned short count = sizeof head / sizeof *head;
  memcpy(instructions, head, sizeof head);
  for (unsigned number = 0; number < MOST_NUMBERS && count + FOR_A_CALL < ROOM; number++) {
    if (!call_of(number) && number != __NR_getdents64) continue;
    instructions[count++] = (struct sock_filter)EQUAL(number, 0, 1);
    instructions[count++] = (struct sock_filter)RETURN(SECCOMP_RET_USER_NOTIF);
  }
  instructions[count++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {count, instructions};
  long result = install(&program);
  if (result != -EACCES) return result;
  if ((result = kernel(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0))) return result;
  return install(&program);
}
