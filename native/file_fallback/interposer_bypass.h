/* Programs that bypass this library: they do not load it, or make system calls without libc. */
#ifndef TRIMTAB_INTERPOSER_BYPASS_H
#define TRIMTAB_INTERPOSER_BYPASS_H

/* Whether the open file is a program for this processor that is static, of another C library than glibc, or of
 * Go, as src/trimtab/binaries/elf/loading.py has it. */
int bypasses_interposer(long file);

#endif
