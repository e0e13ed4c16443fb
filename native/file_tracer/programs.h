/* The files that the kernel itself opens to execute a program. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <sys/types.h>

/* Record the program at the absolute `path`, which process `tgid` now executes, with the
 * interpreters of a script (#!) and the dynamic loader of an executable (PT_INTERP). */
void record_program(pid_t tgid, pid_t tid, const char *path);

#endif
