/* The seccomp filter by which the calls of a program that concern files become questions. */
#ifndef TRIMTAB_FILTER_H
#define TRIMTAB_FILTER_H

/* Install it in this process, for all that it will be and start: the descriptor by which its questions come;
 * -errno where that is refused. Takes setuid programs their rights where nothing else is allowed. */
long install_filter(void);

#endif
