/* trimtab-restore: goes on with the process of a snapshot, in place of this one.
 *
 * The last variable names the program that the snapshot is of, the one before it the snapshot; both are
 * dropped, all else is the new process's. It maps everything where it was, and jumps. It runs at an address
 * of its own, where no program is, without any library. If a place is taken or a file differs, it starts the
 * program instead. */
#include <asm/prctl.h>
#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <linux/mman.h>
#include <stddef.h>
#include <sys/stat.h>

#include "../kernel_call/kernel_call.h"
#include "hexadecimal.h"
#include "image.h"

enum { MAPS_BYTES = 1 << 14, STACK_LIMIT = 3, NAME_OF_THREAD = 15, NOT_FOUND = 127 };
/* What is kept for the stack: without a limit; in any case, as Linux keeps 128 MiB free below it, and programs
 * raise the limit; and below it, where nothing may be. */
enum { WITHOUT_LIMIT = 1 << 30, LEAST_STACK = 120 << 20, GUARD = 1 << 20 };
enum { GET_PROCESSOR_STATE = 0x1022, REQUEST_PROCESSOR_STATE = 0x1023, STATES = 64 };

static char failed[] = "TRIMTAB_SNAPSHOT_FAILED=1";
static long *first_stack; /* as the kernel leaves it: the number of arguments, the arguments, the variables */

static const char *after_equals(const char *text) {
  while (*text && *text++ != '=') continue;
  return text;
}

static _Noreturn void end_process(void) {
  for (;;) kernel(__NR_exit_group, NOT_FOUND, 0, 0, 0, 0, 0);
}

/* The last two variables. */
static char **own_variables(long *stack) {
  char **first = (char **)(stack + 1 + stack[0] + 1), **end = first;
  while (*end) end++;
  if (end - first < 2) end_process();
  return end - 2;
}

/* Their text stays in /proc/self/environ. */
static void drop(char **variable) {
  for (char *each = *variable; *each; each++) *each = 0;
  *variable = NULL;
}

/* Start the program as usual. */
static _Noreturn void start_program(void) {
  char **own = own_variables(first_stack);
  own[0] = failed;
  const char *program = after_equals(own[1]);
  own[1] = NULL;
  kernel(__NR_execve, (long)program, (long)(first_stack + 1),
           (long)(first_stack + 1 + first_stack[0] + 1), 0, 0, 0);
  end_process();
}

static int is_error(long result) { return (unsigned long)result >= -4095UL; }

/* A place may be taken as the kernel chose it for this process's stack: it chooses anew. The first letter of
 * the last variable counts. */
static _Noreturn void try_again(void) {
  enum { FIRST_LETTER = 'T', TRIES = 4 };
  char **own = own_variables(first_stack);
  if (own[1][0]++ < FIRST_LETTER + TRIES)
    kernel(__NR_execve, (long)"/proc/self/exe", (long)(first_stack + 1),
           (long)(first_stack + 1 + first_stack[0] + 1), 0, 0, 0);
  start_program();
}

static void map_at(uint64_t begin, uint64_t end, long protection, long flags, long file, uint64_t offset) {
  long at = kernel(__NR_mmap, (long)begin, (long)(end - begin), protection, flags | MAP_FIXED_NOREPLACE, file,
                   (long)offset);
  if (at == -EEXIST) try_again();
  if (at != (long)begin) start_program();
}

static const char *image_at;

static long open_mapped(const struct mapped_file *expected) {
  struct stat found;
  long file = kernel(__NR_openat, AT_FDCWD, (long)(image_at + expected->path), O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (is_error(file) || kernel(__NR_fstat, file, (long)&found, 0, 0, 0, 0) ||
      (uint64_t)found.st_size != expected->size || (uint64_t)found.st_mtim.tv_sec != expected->time_s ||
      (uint64_t)found.st_mtim.tv_nsec != expected->time_ns || found.st_ino != expected->inode ||
      found.st_dev != expected->device)
    start_program();
  return file;
}

static void map_segments(const struct snapshot *image, long data) {
  const struct mapped_file *files = (const void *)(image_at + image->files);
  const struct segment *each = (const void *)(image_at + image->segments), *end = each + image->segment_count;
  long file = -1, opened = -1;
  for (; each < end; each++) {
    if (each->source >= 0 && each->source != opened) {
      if (file >= 0) kernel(__NR_close, file, 0, 0, 0, 0, 0);
      file = open_mapped(&files[opened = each->source]);
    }
    long flags = each->is_shared ? MAP_SHARED : MAP_PRIVATE;
    if (each->source == ZEROS) flags |= MAP_ANONYMOUS | MAP_NORESERVE;
    map_at(each->begin, each->end, each->protection, flags,
           each->source == ZEROS ? -1 : each->source == DATA ? data : file, each->offset);
    for (int i = 0; i < ADVICES; i++)
      if (each->advice >> i & 1)
        kernel(__NR_madvise, (long)each->begin, (long)(each->end - each->begin), advices[i].number, 0, 0, 0);
  }
  if (file >= 0) kernel(__NR_close, file, 0, 0, 0, 0, 0);
}

/* The stack grows into memory that is kept for it. */
static void keep_stack(const struct snapshot *image) {
  uint64_t limit[2] = {0, 0};
  kernel(__NR_prlimit64, 0, STACK_LIMIT, 0, (long)limit, 0, 0);
  uint64_t bytes = limit[0] == ~0UL ? WITHOUT_LIMIT : limit[0] & -(uint64_t)PAGE;
  if (bytes < LEAST_STACK) bytes = LEAST_STACK;
  if (bytes >= image->stack_begin - GUARD) start_program();
  uint64_t begin = image->stack_begin - bytes;
  map_at(begin, image->stack_begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  map_at(begin - GUARD, begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static char maps[MAPS_BYTES];

static int ends_with(const char *line, const char *end, const char *name) {
  size_t length = 0;
  while (name[length]) length++;
  if ((size_t)(end - line) < length) return 0;
  for (size_t i = 0; i < length; i++)
    if (end[(ptrdiff_t)i - (ptrdiff_t)length] != name[i]) return 0;
  return 1;
}

static void move_kernel_parts(const struct snapshot *image) {
  long file = kernel(__NR_open, (long)"/proc/self/maps", O_RDONLY, 0, 0, 0, 0), got, read = 0;
  while ((got = kernel(__NR_read, file, (long)maps + read, MAPS_BYTES - 1 - read, 0, 0, 0)) > 0) read += got;
  kernel(__NR_close, file, 0, 0, 0, 0, 0);
  for (uint32_t part = 0; part < image->part_count; part++) {
    const struct kernel_part *wanted = &image->parts[part];
    const char *at = maps;
    for (;;) {
      const char *line = at;
      while (*at && *at != '\n') at++;
      if (!*at) start_program();
      if (ends_with(line, at++, wanted->name)) {
        uint64_t begin = hexadecimal(&line), end = (line++, hexadecimal(&line));
        if (end - begin != wanted->bytes) start_program();
        if (begin == wanted->begin) break;
        map_at(wanted->begin, wanted->begin + wanted->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
               0); /* it is free */
        if (kernel(__NR_mremap, (long)begin, (long)(end - begin), (long)(end - begin),
                   MREMAP_MAYMOVE | MREMAP_FIXED, (long)wanted->begin, 0) != (long)wanted->begin)
          start_program();
        break;
      }
    }
  }
}

static void tell_kernel(const struct snapshot *image) {
  for (int number = 1; number <= SIGNALS; number++)
    kernel(__NR_rt_sigaction, number, (long)&image->handlers[number - 1], 0, 8, 0, 0);
  struct {
    uint64_t at;
    int32_t flags, unused;
    uint64_t bytes;
  } stack = {image->alternate_stack, (int32_t)image->alternate_flags, 0, image->alternate_bytes};
  kernel(__NR_sigaltstack, (long)&stack, 0, 0, 0, 0, 0);
  uint64_t own_state = 0;
  kernel(__NR_arch_prctl, GET_PROCESSOR_STATE, (long)&own_state, 0, 0, 0, 0);
  kernel(__NR_prctl, NAME_OF_THREAD, (long)image->name, 0, 0, 0, 0);
  kernel(__NR_set_robust_list, (long)image->robust_list, (long)image->robust_bytes, 0, 0, 0, 0);
  if (image->sequences)
    kernel(__NR_rseq, (long)image->sequences, (long)image->sequences_bytes, 0, 0x53053053, 0, 0);
  for (int state = 0; state < STATES; state++)
    if ((image->processor_state & ~own_state) >> state & 1)
      kernel(__NR_arch_prctl, REQUEST_PROCESSOR_STATE, state, 0, 0, 0, 0);
  if (kernel(__NR_arch_prctl, ARCH_SET_FS, (long)image->thread_pointer, 0, 0, 0, 0)) start_program();
  *(int32_t *)image->own_identity = (int32_t)kernel(__NR_set_tid_address, (long)image->own_identity, 0, 0, 0, 0, 0);
}

static _Noreturn void go_on(const struct registers *registers, long stack) {
  __asm__ volatile(
      "ldmxcsr 64(%0)\n\t"
      "fldcw 68(%0)\n\t"
      "movq 0(%0), %%rbx\n\t"
      "movq 8(%0), %%rbp\n\t"
      "movq 16(%0), %%r12\n\t"
      "movq 24(%0), %%r13\n\t"
      "movq 32(%0), %%r14\n\t"
      "movq 40(%0), %%r15\n\t"
      "movq 48(%0), %%rsp\n\t"
      "jmpq *56(%0)"
      :
      : "D"(registers), "a"(stack)
      : "memory");
  __builtin_unreachable();
}

/* Whether the file is whole, and its tables are as they were written. */
static int is_whole(const struct snapshot *image, uint64_t bytes) {
  return image->bytes % 8 == 0 && digest_of(image) == image->digest && image->file_bytes <= bytes;
}

static const struct snapshot *open_image(long data) {
  struct snapshot first;
  struct stat found;
  if (is_error(data) || kernel(__NR_fstat, data, (long)&found, 0, 0, 0, 0) ||
      kernel(__NR_pread64, data, (long)&first, sizeof first, 0, 0, 0) != sizeof first ||
      first.magic != SNAPSHOT_MAGIC || first.bytes < sizeof first || first.bytes > (uint64_t)found.st_size)
    start_program();
  image_at = (const char *)kernel(__NR_mmap, 0, (long)first.bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, data, 0);
  const struct snapshot *image = (const void *)image_at;
  if (is_error((long)image_at) || !is_whole(image, (uint64_t)found.st_size)) start_program();
  return image;
}

__attribute__((used)) _Noreturn static void restore(long *stack) {
  char **own = own_variables(first_stack = stack);
  long data = kernel(__NR_openat, AT_FDCWD, (long)after_equals(own[0]), O_RDONLY | O_CLOEXEC, 0, 0, 0);
  const struct snapshot *image = open_image(data);
  move_kernel_parts(image);
  map_segments(image, data);
  keep_stack(image);
  kernel(__NR_close, data, 0, 0, 0, 0, 0);
  tell_kernel(image);
  drop(&own[0]), drop(&own[1]);
  go_on(&image->registers, (long)stack);
}

__asm__(".globl _start\n_start: xor %ebp, %ebp\n\tmov %rsp, %rdi\n\tandq $-16, %rsp\n\tcall restore\n");
