#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../store/which.h"
#include "lz4.h"
#include "open_file.h"
#include "place.h"
#include "sidecar.h"

static uint8_t block[CHUNK_BYTES];

static int object_path(char *path, size_t path_bytes, const char *root, const uint8_t *library,
                       uint64_t number) {
  char digest[2 * NAMED_DIGEST_BYTES + 1];
  for (int i = 0; i < NAMED_DIGEST_BYTES; i++) snprintf(digest + 2 * i, 3, "%02x", library[i]);
  return snprintf(path, path_bytes, "%s/%.2s/%s-%06lu", root, digest, digest,
                  (unsigned long)(number / OBJECT_CHUNKS)) < (int)path_bytes;
}

/* The stored bytes of a chunk; 0 if they are missing. */
static size_t read_block(int file, uint64_t number) {
  char magic[8];
  uint32_t range[2];
  off_t at = (off_t)(sizeof magic + number % OBJECT_CHUNKS * sizeof *range);
  if (pread(file, magic, sizeof magic, 0) != sizeof magic || memcmp(magic, OBJECT_MAGIC, 8) ||
      pread(file, range, sizeof range, at) != sizeof range || range[1] <= range[0] ||
      range[1] - range[0] > sizeof block)
    return 0;
  size_t bytes = range[1] - range[0];
  return pread(file, block, bytes, range[0]) == (ssize_t)bytes ? bytes : 0;
}

int read_stored_chunk(const char *root, const uint8_t library_sha256[32], uint64_t number,
                      uint8_t *to, size_t size) {
  static char path[PATH_MAX];
  if (!object_path(path, sizeof path, root, library_sha256, number)) return 0;
  int file = open_file(path, O_RDONLY | O_NONBLOCK); /* a pipe would block */
  if (file < 0) return 0;
  size_t bytes = read_block(file, number);
  close(file);
  if (!bytes) return 0;
  if (bytes == size) memcpy(to, block, size);
  return bytes == size || lz4_block(block, bytes, to, size) == size;
}

const char *cache_folder(void) {
  static char folder[PATH_MAX + 16];
  const char *chosen = getenv("TRIMTAB_STORE_CACHE");
  if (*folder) return folder;
  snprintf(folder, sizeof folder, "%s/trimtab", environment_root);
  int writable = access(folder, W_OK) == 0;
  if (chosen && *chosen) snprintf(folder, sizeof folder, "%s", chosen);
  else if (writable) snprintf(folder, sizeof folder, "%s/trimtab/cache", environment_root);
  else snprintf(folder, sizeof folder, "/tmp/trimtab-cache-%u", (unsigned)getuid());
  return folder;
}

int is_own_cache(const char *cache) {
  const char *chosen = getenv("TRIMTAB_STORE_CACHE");
  size_t length = strlen(environment_root);
  struct stat status;
  int named = chosen && *chosen;
  if (!named && !strncmp(cache, environment_root, length) && cache[length] == '/') return 1;
  mkdir(cache, S_IRWXU);
  if (named ? stat(cache, &status) : lstat(cache, &status))
    return named && errno == ENOENT; /* the fetcher also makes missing parents */
  return S_ISDIR(status.st_mode) &&
         !(status.st_mode & (S_IWGRP | S_IWOTH)) &&
         (status.st_uid == geteuid() || (named && status.st_uid == 0));
}

/* Run a program and return its status, -1 if it ended in another way. It is a grandchild, and the child has no signal
 * at its end: the program's own waits see neither. */
static int run(char *const arguments[]) {
  char *variables[] = {NULL};
  int status = -1;
  long child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
  if (child == 0) {
    long grandchild = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (grandchild == 0) {
      execve(arguments[0], arguments, variables);
      _exit(127);
    }
    int ended = grandchild > 0 && waitpid((pid_t)grandchild, &status, 0) == grandchild && WIFEXITED(status);
    _exit(ended ? WEXITSTATUS(status) : 127);
  }
  int ended = child > 0 && waitpid((pid_t)child, &status, __WCLONE) == child && WIFEXITED(status);
  return ended ? WEXITSTATUS(status) : -1;
}

/* The fetcher is a separate program: what the kernel may refuse to this one, it has. */
int fetch_object(const char *store, const char *cache, const uint8_t library_sha256[32], uint64_t number,
                 const char *piece) {
  static char fetcher[PATH_MAX + 32], address[PATH_MAX], path[PATH_MAX];
  size_t length = strlen(store);
  while (length && store[length - 1] == '/') length--;
  static char root[PATH_MAX];
  snprintf(root, sizeof root, "%.*s", (int)length, store);
  snprintf(fetcher, sizeof fetcher, "%s/trimtab/trimtab-fetch", environment_root);
  if (!object_path(address, sizeof address, root, library_sha256, number) ||
      !object_path(path, sizeof path, cache, library_sha256, number))
    return USAGE;
  char *arguments[] = {fetcher, address, path, (char *)piece, NULL};
  return run(arguments);
}
