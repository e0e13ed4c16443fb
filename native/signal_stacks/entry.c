#define _GNU_SOURCE
#include "entry.h"

#include <stddef.h>

#include "stacks.h"

_Static_assert(offsetof(ucontext_t, uc_stack.ss_sp) == 16, "as read below");
_Static_assert(offsetof(ucontext_t, uc_stack.ss_size) == 32, "as read below");

/* A thread borrows it if the kernel has no stack of ours for it: a thread made by clone(2), or
 * older than this library, or one that called sigaltstack(2) without the C library. */
__attribute__((used)) static uint8_t *borrow_stack(const ucontext_t *context, uintptr_t at) {
  enum { ENOUGH = 32768 }; /* as no stack of ours is available */
  if (stack_at(at)) return NULL;
  unsigned number = claim_stack();
  if (number) return stack_base(number) + STACK_BYTES;
  uintptr_t room = at - (uintptr_t)context->uc_stack.ss_sp;
  return room < context->uc_stack.ss_size && room < ENOUGH ? (uint8_t *)1 : NULL;
}

__attribute__((used)) static void give_back_stack(const uint8_t *top) {
  release_stack(stack_at((uintptr_t)top - 1));
}

/* Callee-saved registers are free here, as rt_sigreturn(2) restores all. Nothing is written to an
 * alternate stack of the program with less than 512 bytes to its end. */
__asm__(
    ".text\n.p2align 4\n.globl trimtab_enter\n.hidden trimtab_enter\n"
    ".type trimtab_enter, @function\n"
    "trimtab_enter:\n"
    "  .cfi_startproc\n"
    "  mov %rsp, %rcx\n"
    "  sub 16(%rdx), %rcx\n"
    "  cmp 32(%rdx), %rcx\n"
    "  jae 1f\n"
    "  cmp $512, %rcx\n"
    "  jb 9f\n"
    "1: mov %rsp, %rbx\n"
    "  .cfi_def_cfa rbx, 8\n"
    "  mov %edi, %r12d\n"
    "  mov %rsi, %r13\n"
    "  mov %rdx, %r14\n"
    "  mov %rdx, %rdi\n"
    "  mov %rsp, %rsi\n"
    "  and $-16, %rsp\n"
    "  call borrow_stack\n"
    "  mov %rax, %r15\n"
    "  cmp $1, %rax\n"
    "  je 9f\n"
    "  jb 2f\n"
    "  mov %rax, %rsp\n"
    "2: mov %r12d, %edi\n"
    "  mov %r13, %rsi\n"
    "  mov %r14, %rdx\n"
    "  call on_signal\n"
    "  mov %rax, %rbp\n"
    "  mov %rbx, %rsp\n"
    "  test %r15, %r15\n"
    "  jz 3f\n"
    "  mov %r15, %rdi\n"
    "  and $-16, %rsp\n"
    "  call give_back_stack\n"
    "  mov %rbx, %rsp\n"
    "3: test %rbp, %rbp\n"
    "  jz 4f\n"
    "  mov %r12d, %edi\n"
    "  mov %r13, %rsi\n"
    "  mov %r14, %rdx\n"
    "  xor %eax, %eax\n"
    "  jmp *%rbp\n"
    "4: ret\n"
    "9: mov $1, %eax\n" /* write */
    "  mov $2, %edi\n"
    "  lea 8f(%rip), %rsi\n"
    "  mov $7f - 8f, %edx\n"
    "  syscall\n"
    "  mov $231, %eax\n" /* exit_group */
    "  mov $70, %edi\n"
    "  syscall\n"
    "  hlt\n"
    "  .cfi_endproc\n"
    ".size trimtab_enter, . - trimtab_enter\n"
    ".section .rodata\n"
    "8: .ascii \"trimtab: a signal came on an alternate stack that has no room for it; make that stack \"\n"
    "  .ascii \"larger\\n\"\n"
    "7:\n"
    ".text\n");

/* Unwinders recognize a signal's frame by these rules of glibc: each register is in the context at
 * %rsp. A return address is looked up one byte before it. */
#define DEREF "0x06"
__asm__(
    ".p2align 4\n"
    ".cfi_startproc simple\n"
    ".cfi_signal_frame\n"
    ".cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, " DEREF "\n" /* the frame's address: %rsp */
    ".cfi_escape 0x10, 8, 2, 0x77, 0x28\n"               /* r8, at 40 of the context */
    ".cfi_escape 0x10, 9, 2, 0x77, 0x30\n"
    ".cfi_escape 0x10, 10, 2, 0x77, 0x38\n"
    ".cfi_escape 0x10, 11, 3, 0x77, 0xc0, 0x00\n"
    ".cfi_escape 0x10, 12, 3, 0x77, 0xc8, 0x00\n"
    ".cfi_escape 0x10, 13, 3, 0x77, 0xd0, 0x00\n"
    ".cfi_escape 0x10, 14, 3, 0x77, 0xd8, 0x00\n"
    ".cfi_escape 0x10, 15, 3, 0x77, 0xe0, 0x00\n"
    ".cfi_escape 0x10, 5, 3, 0x77, 0xe8, 0x00\n"  /* rdi */
    ".cfi_escape 0x10, 4, 3, 0x77, 0xf0, 0x00\n"  /* rsi */
    ".cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00\n"  /* rbp */
    ".cfi_escape 0x10, 3, 3, 0x77, 0x80, 0x01\n"  /* rbx */
    ".cfi_escape 0x10, 1, 3, 0x77, 0x88, 0x01\n"  /* rdx */
    ".cfi_escape 0x10, 0, 3, 0x77, 0x90, 0x01\n"  /* rax */
    ".cfi_escape 0x10, 2, 3, 0x77, 0x98, 0x01\n"  /* rcx */
    ".cfi_escape 0x10, 7, 3, 0x77, 0xa0, 0x01\n"  /* rsp */
    ".cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01\n" /* rip */
    "  nop\n"
    ".globl trimtab_leave\n.hidden trimtab_leave\n.type trimtab_leave, @function\n"
    "trimtab_leave:\n"
    "  mov %rsp, %rdi\n"
    "  mov %rsp, %rbx\n"
    "  and $-16, %rsp\n"
    "  call before_return\n"
    "  mov %rbx, %rsp\n"
    "  mov $15, %eax\n" /* rt_sigreturn */
    "  syscall\n"
    "  hlt\n"
    ".cfi_endproc\n"
    ".size trimtab_leave, . - trimtab_leave\n"
    ".globl trimtab_switch\n.hidden trimtab_switch\n.type trimtab_switch, @function\n"
    "trimtab_switch:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined rip\n"
    "  mov %rdi, %rsp\n"
    "  xor %ebp, %ebp\n"
    "  call *%rsi\n"
    "  hlt\n"
    "  .cfi_endproc\n"
    ".size trimtab_switch, . - trimtab_switch\n");
