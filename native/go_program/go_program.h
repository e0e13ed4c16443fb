/* Programs of Go make system calls themselves, and end by one: replaced functions of the C library
 * see neither. For code without a C library, or that may not call it. */
#ifndef TRIMTAB_GO_PROGRAM_H
#define TRIMTAB_GO_PROGRAM_H

/* Whether the open file is one for this word size: by the note or the section that Go's linker
 * writes, by the rules of src/trimtab/binaries/elf/loading.py. */
int is_of_go(long file);

#endif
