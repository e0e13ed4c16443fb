/* Programs of Go make system calls themselves, and end by one: what stands before the C library's functions
 * sees neither. For code that has no C library, or may not ask it. */
#ifndef TRIMTAB_GO_PROGRAM_H
#define TRIMTAB_GO_PROGRAM_H

/* Whether the open file is one for this word size: by the note or the section that Go's linker writes, as
 * src/trimtab/binaries/elf/loading.py has it. */
int is_of_go(long file);

#endif
