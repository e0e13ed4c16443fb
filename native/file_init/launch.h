/* Start the served program with the filter. */
#ifndef TRIMTAB_LAUNCH_H
#define TRIMTAB_LAUNCH_H

/* Become the command. `called` is its first word if `words[0]` is its path; NULL for a name that is
 * searched in PATH. If that is not possible, end as a shell does. */
__attribute__((noreturn)) void become(char **words, const char *called, char **variables);

/* Become the command as `become` does with no `called`, if / is not writable and the command loads our library: that
 * finds in the overlay what comes back there, where the kernel does not. Otherwise return. */
void become_served(char **words, char **variables);

/* Start a process that becomes it, with the signal mask `signals`; returns its number. `listener`
 * receives its questions, -errno if that is impossible: then the program runs without the filter,
 * unless `must_be_served`. */
long launch(char **words, const char *called, char **variables, unsigned long signals, int must_be_served,
            long *listener);

#endif
