/* A system call of the program, made and answered. */
#ifndef TRIMTAB_ANSWER_H
#define TRIMTAB_ANSWER_H

/* Make the call, and where it failed for what was removed once more when that is back. Changes no
 * vector register, as the C library keeps values in these over a system call. */
long answer(long number, const long arguments[6]);

#endif
