/* The thread that asks: its memory, its open folders, and its user. All are read through the
 * kernel, which allows this for descendants of this process. */
#ifndef TRIMTAB_ASKER_H
#define TRIMTAB_ASKER_H

#include <stddef.h>
#include <stdint.h>

/* Whether /proc is mounted, and has processes under this process's numbers. */
int is_proc_ours(void);

/* Read a text with its end; returns its length, -EFAULT if there is none of fewer than `limit`
 * bytes, and another -errno if the kernel refuses. */
long read_text(long thread, uint64_t address, char *to, size_t limit);

/* Returns whether everything was written. */
int write_memory(long thread, uint64_t address, const void *from, size_t bytes);

/* Open the folder that the thread has as `folder`; AT_FDCWD is its working directory. */
long open_of_asker(long thread, int folder, int flags);

/* The thread's position in an open folder; -errno if it is unknown. */
int64_t position_of_asker(long thread, int folder);

/* Whether it has our root, and whether it has the same user and group. */
int has_our_root(long thread);
int is_our_user(long thread);

/* Whether its program is an interpreter of Python, by name. */
int is_python(long thread);

/* The number of its process; the thread's own number if that is unknown. */
long process_of(long thread);

#endif
