/* The files of the record: created at a process's start, after a fork, and when an object is
 * loaded. */
#include "object.h"
#include "system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

char record_directory[TRIMTAB_PATH_BYTES];
struct process_record *current_process;

/* A shared mapping of a new file with reserved space: a full disk must fail here, not as a SIGBUS
 * in the middle of the program. */
static void *new_record(const char *kind, size_t length) {
  static uint32_t serial;
  char path[TRIMTAB_PATH_BYTES + 128], *limit = path + sizeof path;
  char *end = append_text(path, limit, record_directory);
  end = append_text(append_text(end, limit, "/"), limit, kind);
  end = append_number(append_text(end, limit, "-"), limit,
                      (uint64_t)SYSTEM_CALL(SYS_getpid, 0, 0, 0, 0, 0, 0));
  end = append_number(append_text(end, limit, "-"), limit, now_ns());
  append_number(append_text(end, limit, "-"), limit, __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
  long file = SYSTEM_CALL(SYS_open, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644, 0, 0, 0);
  if (file < 0) return 0;
  void *record = 0;
  if (SYSTEM_CALL(SYS_fallocate, file, 0, 0, length, 0, 0) == 0) {
    record = memory_map(length, PROT_READ | PROT_WRITE, MAP_SHARED, (int)file);
    if (failed(record)) record = 0;
  }
  if (!record) SYSTEM_CALL(SYS_unlink, path, 0, 0, 0, 0, 0);
  SYSTEM_CALL(SYS_close, file, 0, 0, 0, 0, 0);
  return record;
}

void start_process_record(int by_fork) {
  struct process_record *process = new_record("process", sizeof *process);
  if (!process) {
    /* The child must not mark functions in the parent's record; the parent counts the missing
     * record. */
    if (current_process) __atomic_add_fetch(&current_process->lost, 1, __ATOMIC_RELAXED);
    current_process = 0;
    return;
  }
  process->pid = (uint32_t)SYSTEM_CALL(SYS_getpid, 0, 0, 0, 0, 0, 0);
  process->parent_pid = (uint32_t)SYSTEM_CALL(SYS_getppid, 0, 0, 0, 0, 0, 0);
  process->started_ns = now_ns();
  process->by_fork = (uint32_t)by_fork;
  SYSTEM_CALL(SYS_readlink, "/proc/self/exe", process->executable, TRIMTAB_PATH_BYTES - 1, 0, 0, 0);
  __builtin_memcpy(process->magic, TRIMTAB_PROCESS_MAGIC, 8);
  current_process = process;
}

struct object_record *new_object_record(const char *path, uint32_t function_count,
                                        const void *file_status) {
  const struct stat *status = file_status;
  struct object_record *record =
      new_record("object", sizeof *record + (size_t)function_count * (sizeof(uint32_t) + 1));
  if (!record) {
    if (current_process) __atomic_add_fetch(&current_process->lost, 1, __ATOMIC_RELAXED);
    return 0;
  }
  record->pid = (uint32_t)SYSTEM_CALL(SYS_getpid, 0, 0, 0, 0, 0, 0);
  record->device = status->st_dev;
  record->inode = status->st_ino;
  record->size_bytes = (uint64_t)status->st_size;
  record->function_count = function_count;
  append_text(record->path, record->path + sizeof record->path, path);
  __builtin_memcpy(record->magic, TRIMTAB_OBJECT_MAGIC, 8);
  return record;
}
