/* The program that is served: started with the filter. */
#ifndef TRIMTAB_LAUNCH_H
#define TRIMTAB_LAUNCH_H

/* Become the command. `called` is its first word where `words[0]` is its path; NULL for a name that is looked
 * for in PATH. Where that is not possible, end as a shell does. */
__attribute__((noreturn)) void become(char **words, const char *called, char **variables);

/* Start a process that becomes it, with the signal mask `signals`: its number. `listener` is set to where its questions come,
 * -errno where none can: then the program runs as it is, but for `must_be_served`, with which it does not. */
long launch(char **words, const char *called, char **variables, unsigned long signals, int must_be_served,
            long *listener);

#endif
