/* A container's own log: where its first process writes its errors. Programs' errors may go elsewhere. */
#ifndef TRIMTAB_CONTAINER_LOG_H
#define TRIMTAB_CONTAINER_LOG_H

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

#include "../kernel_call/kernel_call.h"

static const char container_log[] = "/proc/1/fd/2";

struct log_file {
  long descriptor;
  uint64_t device, number;
};

/* Another number for the log, in a process that may become another user: that may not open it by its path. */
static struct log_file kept_log = {-1, 0, 0};

/* The file at a path, or of a descriptor with the path ""; 0 if it cannot be told. */
static inline int identify(struct log_file *file, const char *path) {
  enum { EMPTY_PATH = 0x1000, NUMBERS = 18 /* of the kernel's struct stat */ };
  uint64_t found[NUMBERS] = {0};
  long folder = *path ? AT_FDCWD : file->descriptor;
  if (kernel(__NR_newfstatat, folder, (long)path, (long)found, *path ? 0 : EMPTY_PATH, 0, 0)) return 0;
  file->device = found[0];
  file->number = found[1];
  return 1;
}

static inline int leads_to_same(struct log_file file, const char *path, struct log_file other, const char *other_path) {
  return identify(&file, path) && identify(&other, other_path) && file.device == other.device &&
         file.number == other.number;
}

/* Whether we are in a slim image, in a container: another root's first process is not ours. */
static inline int has_container_log(void) {
  struct log_file none = {-1, 0, 0};
  return !kernel(__NR_faccessat, AT_FDCWD, (long)"/trimtab", 0, 0, 0, 0) &&
         leads_to_same(none, "/proc/1/root", none, "/");
}

/* At the start of a program of a whole root. */
static inline void keep_container_log(void) {
  enum { FIRST = 1000 }; /* out of the way of programs */
  struct log_file errors = {2, 0, 0};
  if (kernel(__NR_geteuid, 0, 0, 0, 0, 0, 0) || !has_container_log() ||
      !leads_to_same(errors, container_log, errors, ""))
    return;
  identify(&errors, "");
  kept_log = errors;
  kept_log.descriptor = kernel(__NR_fcntl, 2, F_DUPFD_CLOEXEC, FIRST, 0, 0, 0);
}

/* Write there, unless standard error is the log, or the log cannot be reached. */
static inline void write_to_container_log(const char *text, size_t bytes) {
  struct log_file errors = {2, 0, 0}, kept = kept_log;
  long log = -1;
  if (kept.descriptor >= 0) {
    identify(&errors, "");
    if (errors.device == kept_log.device && errors.number == kept_log.number) return;
    /* The program may have closed it, and have another file of that number. */
    if (identify(&kept, "") && kept.device == kept_log.device && kept.number == kept_log.number) log = kept.descriptor;
  } else if (has_container_log() && !leads_to_same(errors, container_log, errors, "")) {
    log = kernel(__NR_openat, AT_FDCWD, (long)container_log, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0,
                 0, 0);
  }
  if (log >= 0) kernel(__NR_write, log, (long)text, (long)bytes, 0, 0, 0);
}

#endif
