/* The descendants of this process: their signals and their ends. */
#ifndef TRIMTAB_PROCESSES_H
#define TRIMTAB_PROCESSES_H

/* Block all signals; returns the previous mask. */
unsigned long hold_signals(void);

/* A descriptor that delivers blocked signals. */
long open_signals(void);

/* Pass signals on to the program, and reap processes; returns whether the program ended, with
 * `status` as of wait4(2). */
int take_signals(long signals, long program, int *status);

/* End all descendants of this process. */
void end_all(void);

/* End in the same way as a process with the status `status`. */
__attribute__((noreturn)) void end_as(int status);

#endif
