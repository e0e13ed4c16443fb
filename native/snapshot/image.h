/* A snapshot: a process of one thread as a file, from which `trimtab-restore` makes it again.
 *
 * The file begins with `struct snapshot`, files and segments, and the paths as text; from
 * `data_begin` on it has pages, as they are mapped. All of it is of one machine and one kernel. */
#ifndef TRIMTAB_SNAPSHOT_IMAGE_H
#define TRIMTAB_SNAPSHOT_IMAGE_H

#include <stdint.h>

enum { PAGE = 4096, SIGNALS = 64, KERNEL_PARTS = 8, SNAPSHOT_MAGIC = 0x50414e54 };

/* Registers that a called function keeps (System V's AMD64 ABI, 3.2.1), and where it goes on. */
struct registers {
  uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
  uint32_t mxcsr;
  uint16_t x87_control;
};

/* As rt_sigaction(2) has it. */
struct handler {
  uint64_t function, flags, restorer, mask;
};

/* A file that is mapped. It is the same one while these are equal. */
struct mapped_file {
  uint64_t path, device, inode, size, time_s, time_ns;
};

enum { ZEROS = -1, DATA = -2 }; /* else the index of a file */

struct segment {
  uint64_t begin, end, offset;
  int32_t source, protection;
  int32_t is_shared, advice; /* bits of `advices` */
};

/* What madvise(2) was told of memory, by the letters of smaps and the bit in `advice`. */
static const struct advice {
  char letters[4];
  int number;
} advices[] = {{"wf", 18}, {"hg", 14}, {"nh", 15}}; /* zeros in a forked child; huge pages; none */
enum { ADVICES = sizeof advices / sizeof *advices };

/* What the kernel maps into each process: [vvar], [vdso]. It is moved to where it was. */
struct kernel_part {
  uint64_t begin, bytes;
  char name[16];
};

struct snapshot {
  uint32_t magic, unused;
  uint64_t digest;                             /* of all after this before the pages */
  uint64_t bytes, files, segments, data_begin; /* of all before the pages; where tables begin */
  uint64_t file_bytes;
  uint32_t file_count, segment_count, part_count, unused_too;
  struct registers registers;
  uint64_t thread_pointer, own_identity, robust_list, robust_bytes;
  uint64_t sequences, sequences_bytes; /* rseq(2); 0 without */
  uint64_t alternate_stack, alternate_bytes, alternate_flags;
  uint64_t stack_begin; /* the lowest address of the first thread's stack */
  struct handler handlers[SIGNALS];
  struct kernel_part parts[KERNEL_PARTS];
  char name[16];              /* of the first thread, as prctl(2) has it */
  uint64_t processor_state;   /* that was asked for: arch_prctl(2)'s ARCH_REQ_XCOMP_PERM */
};

static inline uint64_t digest_of(const struct snapshot *image) {
  const uint64_t *each = &image->bytes, *end = (const uint64_t *)((const char *)image + image->bytes);
  uint64_t digest = 1;
  for (; each < end; each++) digest = (digest ^ *each) * 0x9e3779b97f4a7c15, digest ^= digest >> 29;
  return digest;
}

#endif
