/* Make a system call of the program and answer it. */
#ifndef TRIMTAB_ANSWER_H
#define TRIMTAB_ANSWER_H

/* Make the call; if it failed because of a removed file, restore that and make it again. Changes no
 * vector register, as the C library keeps values in these across a system call. */
long answer(long number, const long arguments[6]);

/* From now on the init above this process restores files: only make calls. */
void leave_to_init(void);

#endif
