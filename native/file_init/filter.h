/* The seccomp filter that turns a program's system calls on files into questions. */
#ifndef TRIMTAB_FILTER_H
#define TRIMTAB_FILTER_H

/* Install it in this process, for its later programs and children. Returns the descriptor for the
 * questions; -errno if that is refused. setuid programs lose their rights if nothing else is
 * allowed. */
long install_filter(void);

#endif
