/* The thread that asks: its memory, its open folders, and who it is. All are read through the kernel, which
 * allows it for processes that were started by this one. */
#ifndef TRIMTAB_ASKER_H
#define TRIMTAB_ASKER_H

#include <stddef.h>
#include <stdint.h>

/* Whether /proc is mounted, and has processes by the numbers that they have for this one. */
int is_proc_ours(void);

/* Read a text with its end; its length, -EFAULT where none of fewer than `limit` bytes is, and another -errno
 * where the kernel refuses. */
long read_text(long thread, uint64_t address, char *to, size_t limit);

/* Whether all was written. */
int write_memory(long thread, uint64_t address, const void *from, size_t bytes);

/* Open what the thread has open as `folder`, AT_FDCWD being its working directory. */
long open_of_asker(long thread, int folder, int flags);

/* Where the thread stands in an open folder; -errno where that is not known. */
int64_t position_of_asker(long thread, int folder);

/* Whether its root is ours, and whether it is the same user, of the same group. */
int has_our_root(long thread);
int is_our_user(long thread);

/* The number of its process; the thread's own where that is not known. */
long process_of(long thread);

#endif
