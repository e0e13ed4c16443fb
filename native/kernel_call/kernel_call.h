/* A system call of x86-64 for code without a C library, or that may not call it. */
#ifndef TRIMTAB_KERNEL_CALL_H
#define TRIMTAB_KERNEL_CALL_H

/* The result of the call; -errno if it failed. */
static inline long kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

#endif
