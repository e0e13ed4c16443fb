/* Paths as the traced processes see them. */
#ifndef PATHS_H
#define PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PATH_BYTES = 2 * PATH_MAX };

/* The start of a relative path of thread `tid`: the directory `descriptor` or AT_FDCWD. Also the
 * path of any open file. False if there is none, as for pipes, sockets and anonymous memory. */
bool descriptor_path(pid_t tid, int descriptor, char path[PATH_BYTES]);

/* `name` of /proc/TID, read as a link; false if it is not an absolute path or was deleted. */
bool process_link(pid_t tid, const char *name, char path[PATH_BYTES]);

/* Record every symbolic link that looking up the absolute `path` traverses.
 *
 * `lookup` becomes the path without `.`, `..` and repeated slashes, links unresolved; `real` the
 * path with links resolved, the last component's only with `follow`. `tgid` and `tid` select
 * /proc/self. False if there are too many links or the path is too long. */
bool resolve(pid_t tgid, pid_t tid, const char *path, bool follow, char lookup[PATH_BYTES],
             char real[PATH_BYTES]);

/* Forget all known links: some have changed. */
void forget_links(void);

#endif
