/* The processes below this one: their signals and their ends. */
#ifndef TRIMTAB_PROCESSES_H
#define TRIMTAB_PROCESSES_H

/* Hold all signals off; the mask that was before. */
unsigned long hold_signals(void);

/* A descriptor by which held signals come. */
long open_signals(void);

/* Hand what came on to the program, and take the ends of processes; whether the program ended, with `status`
 * as of wait4(2). */
int take_signals(long signals, long program, int *status);

/* End all processes that were started by this one, and by these. */
void end_all(void);

/* End as a process did whose end is `status`. */
__attribute__((noreturn)) void end_as(int status);

#endif
