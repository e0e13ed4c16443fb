/* Programs whose system calls this library cannot intercept: they do not load it, or make the calls
 * themselves. */
#ifndef TRIMTAB_INTERPOSER_BYPASS_H
#define TRIMTAB_INTERPOSER_BYPASS_H

/* Whether the open file is a program for this processor that is static, of another C library than
 * glibc, or of Go, by the rules of src/trimtab/binaries/elf/loading.py. */
int bypasses_interposer(long file);

#endif
