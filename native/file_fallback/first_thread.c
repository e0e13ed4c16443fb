/* The other fallback gives each thread a stack for signals, and so is loaded before the first one.
 * Many programs have no threads: the slim libraries load it, if they are loaded at all. Until then
 * the C library's pthread_create jumps to here. */
#include "first_thread.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "place.h"
#include "symbol.h"

enum { JUMP_BYTES = 14, PAGE_BYTES = 4096, LAZY = 1, NOW = 2, LOADED_ONLY = 4 /* RTLD_NOLOAD */ };

static uint8_t *create; /* pthread_create; NULL unless it jumps to here */
static uint8_t beginning[JUMP_BYTES];
static char waiting[PATH_BYTES];

void load_library(const char *path) {
  FUNCTION(void *, dlopen, const char *, int);
  if (dlopen) dlopen(path, NOW);
}

/* Pages stay executable, as other threads may run. */
static int write_beginning(const uint8_t bytes[JUMP_BYTES]) {
  uintptr_t first = (uintptr_t)create & -(uintptr_t)PAGE_BYTES;
  size_t count = (uintptr_t)create + JUMP_BYTES - first;
  if (KERNEL(__NR_mprotect, first, count, PROT_READ | PROT_WRITE | PROT_EXEC, 0)) return 0;
  memcpy(create, bytes, JUMP_BYTES);
  KERNEL(__NR_mprotect, first, count, PROT_READ | PROT_EXEC, 0);
  return 1;
}

/* A program may have forbidden itself to change code by mprotect(2) meanwhile. */
static int write_beginning_by_file(void) {
  long file = open_path(AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return 0;
  long written = kernel(__NR_pwrite64, file, (long)beginning, JUMP_BYTES, (long)create, 0, 0);
  close_file(file);
  return written == JUMP_BYTES;
}

/* Called by the other fallback, which changes the function itself. */
__attribute__((visibility("default"))) void trimtab_leave_threads(void) {
  if (create && (write_beginning(beginning) || write_beginning_by_file())) create = NULL;
}

static int our_create(void *thread, const void *attributes, void *(*routine)(void *), void *argument) {
  FUNCTION(int, pthread_create, void *, const void *, void *(*)(void *), void *);
  uint8_t *own = create;
  trimtab_leave_threads();
  load_library(waiting);
  if (create) return EAGAIN;
  if (own) pthread_create = (int (*)(void *, const void *, void *(*)(void *), void *))own;
  return pthread_create(thread, attributes, routine, argument);
}

/* Before glibc 2.34 threads were in a separate library. */
static uint8_t *find_create(void) {
  static const char *const libraries[] = {"libc.so.6", "libpthread.so.0"};
  FUNCTION(void *, dlopen, const char *, int);
  void *found = NULL;
  for (int i = 0; i < 2 && dlopen && !found; i++) {
    void *library = dlopen(libraries[i], LAZY | LOADED_ONLY);
    if (library) found = dlsym(library, "pthread_create");
  }
  return found;
}

int load_before_threads(const char *library) {
  static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip), and its target */
  uint8_t bytes[JUMP_BYTES];
  void *target = (void *)our_create;
  struct text text = text_in(waiting, sizeof waiting);
  put(&text, library);
  if (create || !text.whole || !(create = find_create())) return create != NULL;
  memcpy(beginning, create, JUMP_BYTES);
  memcpy(bytes, jump, sizeof jump);
  memcpy(bytes + sizeof jump, &target, sizeof target);
  if (!write_beginning(bytes)) create = NULL;
  return create != NULL;
}
