/* Programs whose system calls this library does not hear: they do not load it, or make them themselves. */
#ifndef TRIMTAB_UNHEARD_H
#define TRIMTAB_UNHEARD_H

/* Whether the open file is a program for this processor that is static, of another C library than glibc, or of
 * Go, as src/trimtab/binaries/elf/loading.py has it. */
int is_unheard(long file);

#endif
