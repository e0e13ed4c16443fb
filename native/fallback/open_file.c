#include "open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

enum { FOR_EVERYBODY = 0644, ROOM = 16 };

int open_file(const char *path, int flags) {
  struct rlimit before;
  int file = open(path, flags | O_CLOEXEC, FOR_EVERYBODY);
  if (file >= 0 || errno != EMFILE || getrlimit(RLIMIT_NOFILE, &before)) return file;
  struct rlimit more = {before.rlim_cur + ROOM, before.rlim_max};
  if (more.rlim_max < more.rlim_cur) more.rlim_max = more.rlim_cur;
  if (setrlimit(RLIMIT_NOFILE, &more)) {
    errno = EMFILE;
    return -1;
  }
  file = open(path, flags | O_CLOEXEC, FOR_EVERYBODY);
  int error = errno;
  setrlimit(RLIMIT_NOFILE, &before);
  errno = error;
  return file;
}
