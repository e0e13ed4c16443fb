/* The C library's names for system calls, within this library. The C library's own functions may be
 * replaced: by a library loaded before it, or in the linker's tables, as memory profilers do. The
 * replacement may have been removed itself, and would cause a miss in the middle of a miss. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kernel_call/kernel_call.h"

static long call(long number, long a, long b, long c, long d, long e, long f) {
  long result = kernel(number, a, b, c, d, e, f);
  if ((unsigned long)result <= -4096ul) return result;
  errno = (int)-result;
  return -1;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  return (void *)call(SYS_mmap, (long)at, (long)bytes, protection, flags, file, offset);
}
int munmap(void *at, size_t bytes) { return (int)call(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0); }
int mprotect(void *at, size_t bytes, int protection) {
  return (int)call(SYS_mprotect, (long)at, (long)bytes, protection, 0, 0, 0);
}
void *mremap(void *at, size_t bytes, size_t new_bytes, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void *place = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
  va_end(rest);
  return (void *)call(SYS_mremap, (long)at, (long)bytes, (long)new_bytes, flags, (long)place, 0);
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  return (int)call(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}
int close(int file) { return (int)call(SYS_close, file, 0, 0, 0, 0, 0); }
ssize_t read(int file, void *to, size_t bytes) {
  return call(SYS_read, file, (long)to, (long)bytes, 0, 0, 0);
}
ssize_t pread(int file, void *to, size_t bytes, off_t at) {
  return call(SYS_pread64, file, (long)to, (long)bytes, at, 0, 0);
}
ssize_t write(int file, const void *from, size_t bytes) {
  return call(SYS_write, file, (long)from, (long)bytes, 0, 0, 0);
}
ssize_t readlink(const char *restrict path, char *restrict to, size_t bytes) {
  return call(SYS_readlink, (long)path, (long)to, (long)bytes, 0, 0, 0);
}
int access(const char *path, int mode) {
  return (int)call(SYS_access, (long)path, mode, 0, 0, 0, 0);
}
int fstat(int file, struct stat *status) {
  return (int)call(SYS_fstat, file, (long)status, 0, 0, 0, 0);
}
