/* Writes the snapshot of this process (image.h). */
#include <asm/prctl.h>
#include <asm/unistd_64.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "../kernel_call/kernel_call.h"
#include "regions.h"
#include "save.h"

enum { MOST_FILES = 1 << 14, MOST_SEGMENTS = 1 << 18, NEAR_PAGES = 8 };
enum { THREAD_NAME = 16, TID_ADDRESS = 40, FIRST_OWN_FILE = 1000, GET_PROCESSOR_STATE = 0x1022 };

extern void *dlsym(void *library, const char *name);

/* Memory of the writer, which is not in the snapshot. */
struct scratch {
  char maps[TEXT_BYTES];
  char paths[TEXT_BYTES];
  uint64_t flags[1 << 16];
  uint8_t pages[1 << 16];
  struct mapped_file files[MOST_FILES];
  struct segment segments[MOST_SEGMENTS];
  struct snapshot image;
  uint64_t path_bytes, data_pages;
  long file, page_flags;
  const char *why;
};

static const char zeros[PAGE];

/* Keep the registers; returns 0, and the new process's first stack in a process that goes on. */
extern long keep_registers(struct registers *to) __attribute__((returns_twice, visibility("hidden")));
__asm__(
    ".text\n"
    ".hidden keep_registers\n"
    "keep_registers:\n\t"
    "movq %rbx, 0(%rdi)\n\t"
    "movq %rbp, 8(%rdi)\n\t"
    "movq %r12, 16(%rdi)\n\t"
    "movq %r13, 24(%rdi)\n\t"
    "movq %r14, 32(%rdi)\n\t"
    "movq %r15, 40(%rdi)\n\t"
    "leaq 8(%rsp), %rax\n\t"
    "movq %rax, 48(%rdi)\n\t"
    "movq (%rsp), %rax\n\t"
    "movq %rax, 56(%rdi)\n\t"
    "stmxcsr 64(%rdi)\n\t"
    "fnstcw 68(%rdi)\n\t"
    "xorl %eax, %eax\n\t"
    "ret\n");

/* The index of the file that a region maps; DATA if its path no longer names it, or will not: this library
 * is there for the saving alone. */
static int file_of(struct scratch *scratch, const struct region *region) {
  struct snapshot *image = &scratch->image;
  if (image->file_count && !strcmp(scratch->paths + scratch->files[image->file_count - 1].path, region->name))
    return (int)image->file_count - 1;
  struct stat found;
  int is_lasting = region->name[0] == '/' && !strstr(region->name, "/trimtab_snapshot.abi3.so");
  if (!is_lasting || stat(region->name, &found) || found.st_ino != region->inode || !S_ISREG(found.st_mode))
    return DATA;
  size_t bytes = strlen(region->name) + 1;
  if (image->file_count == MOST_FILES || scratch->path_bytes + bytes > TEXT_BYTES) return DATA;
  scratch->files[image->file_count] = (struct mapped_file){
      scratch->path_bytes, found.st_dev, found.st_ino, (uint64_t)found.st_size,
      (uint64_t)found.st_mtim.tv_sec, (uint64_t)found.st_mtim.tv_nsec};
  memcpy(scratch->paths + scratch->path_bytes, region->name, bytes);
  scratch->path_bytes += bytes;
  return (int)image->file_count++;
}

static void add(struct scratch *scratch, const struct region *region, uint64_t begin, uint64_t end, int source) {
  struct snapshot *image = &scratch->image;
  uint64_t of_file = region->offset + begin - region->begin;
  uint64_t offset = source == DATA ? scratch->data_pages * PAGE : source == ZEROS ? 0 : of_file;
  if (source == DATA) scratch->data_pages += (end - begin) / PAGE;
  struct segment *last = image->segment_count ? &scratch->segments[image->segment_count - 1] : NULL;
  if (last && last->end == begin && last->source == source && last->protection == region->protection &&
      last->is_shared == region->is_shared && last->advice == region->advice &&
      (source == ZEROS || last->offset + (last->end - last->begin) == offset)) {
    last->end = end;
    return;
  }
  if (image->segment_count == MOST_SEGMENTS) return;
  scratch->segments[image->segment_count++] =
      (struct segment){begin, end, offset, source, region->protection, region->is_shared, region->advice};
}

/* Whether each page of a region is the process's own and not zeros: in `pages`. */
static int find_own_pages(struct scratch *scratch, uint64_t begin, uint64_t count, int readable) {
  long want = (long)(count * 8);
  if (kernel(__NR_pread64, scratch->page_flags, (long)scratch->flags, want, (long)(begin / PAGE * 8), 0, 0) != want)
    return 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t flags = scratch->flags[i];
    int is_own = flags >> 62 && !(flags >> 61 & 1);
    scratch->pages[i] = (uint8_t)(is_own && (!readable || memcmp((const void *)(begin + i * PAGE), zeros, PAGE)));
  }
  return 1;
}

static int add_private(struct scratch *scratch, const struct region *region) {
  int source = region->inode ? file_of(scratch, region) : ZEROS;
  int readable = region->protection & PROT_READ;
  for (uint64_t begin = region->begin; begin < region->end;) {
    uint64_t count = (region->end - begin) / PAGE;
    if (count > sizeof scratch->pages) count = sizeof scratch->pages;
    if (source == DATA)
      memset(scratch->pages, 1, count);
    else if (!find_own_pages(scratch, begin, count, readable && source == ZEROS))
      return 0;
    for (uint64_t i = 0; i < count;) {
      uint64_t from = i, last;
      if (!scratch->pages[i]) {
        while (i < count && !scratch->pages[i]) i++;
        add(scratch, region, begin + from * PAGE, begin + i * PAGE, source);
        continue;
      }
      for (last = i; i < count && i - last <= NEAR_PAGES; i++)
        if (scratch->pages[i]) last = i;
      i = last + 1;
      if (!readable) {
        scratch->why = "memory that may not be read has content";
        return 0;
      }
      add(scratch, region, begin + from * PAGE, begin + i * PAGE, DATA);
    }
    begin += count * PAGE;
  }
  return 1;
}

static int add_region(struct scratch *scratch, const struct region *region) {
  struct snapshot *image = &scratch->image;
  if (region->begin == (uint64_t)scratch || !strcmp(region->name, "[vsyscall]")) return 1;
  if (!strncmp(region->name, "[vvar", 5) || !strcmp(region->name, "[vdso]")) {
    struct kernel_part *part = &image->parts[image->part_count++];
    part->begin = region->begin, part->bytes = region->end - region->begin;
    strcpy(part->name, region->name);
    return 1;
  }
  if (region->is_shared) {
    int source = region->protection & PROT_WRITE ? DATA : file_of(scratch, region);
    scratch->why = "memory is shared with other processes";
    if (source < 0) return 0;
    add(scratch, region, region->begin, region->end, source);
    return 1;
  }
  if (!strcmp(region->name, "[stack]")) image->stack_begin = region->begin;
  return add_private(scratch, region);
}

static int add_regions(struct scratch *scratch) {
  long bytes = read_all("/proc/self/smaps", scratch->maps, TEXT_BYTES - 1);
  if (bytes < 0) return 0;
  struct region region;
  for (char *line = scratch->maps; *line;) {
    line = read_region(line, &region);
    if (!add_region(scratch, &region)) {
      if (!scratch->why) scratch->why = region.name;
      return 0;
    }
  }
  return 1;
}

static void ask_kernel(struct snapshot *image) {
  struct {
    uint64_t at;
    int32_t flags, unused;
    uint64_t bytes;
  } stack;
  for (int number = 1; number <= SIGNALS; number++)
    kernel(__NR_rt_sigaction, number, 0, (long)&image->handlers[number - 1], 8, 0, 0);
  image->handlers[SIGSYS - 1] = (struct handler){0}; /* record.c's */
  kernel(__NR_sigaltstack, 0, (long)&stack, 0, 0, 0, 0);
  image->alternate_stack = stack.at, image->alternate_bytes = stack.bytes;
  image->alternate_flags = (uint64_t)stack.flags;
  kernel(__NR_prctl, THREAD_NAME, (long)image->name, 0, 0, 0, 0);
  kernel(__NR_get_robust_list, 0, (long)&image->robust_list, (long)&image->robust_bytes, 0, 0, 0);
  kernel(__NR_arch_prctl, ARCH_GET_FS, (long)&image->thread_pointer, 0, 0, 0, 0);
  kernel(__NR_arch_prctl, GET_PROCESSOR_STATE, (long)&image->processor_state, 0, 0, 0, 0);
  kernel(__NR_prctl, TID_ADDRESS, (long)&image->own_identity, 0, 0, 0, 0);
  const ptrdiff_t *offset = dlsym(NULL, "__rseq_offset");
  const unsigned *bytes = dlsym(NULL, "__rseq_size");
  if (offset && bytes && *bytes) {
    image->sequences = image->thread_pointer + (uint64_t)*offset;
    image->sequences_bytes = *bytes < 32 ? 32 : *bytes;
  }
}

/* Standard streams are the new process's own; the log of record.c is beyond the others. No other file may be
 * open. */
static int has_no_open_files(struct scratch *scratch) {
  char *entries = scratch->maps, path[64];
  long folder = kernel(__NR_open, (long)"/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0, 0), bytes;
  int is_alone = folder >= 0;
  while (is_alone && (bytes = kernel(__NR_getdents64, folder, (long)entries, TEXT_BYTES, 0, 0, 0)) > 0)
    for (long at = 0; at < bytes; at += *(uint16_t *)(entries + at + 16)) {
      const char *digits = entries + at + 19, *end = digits;
      long number = (long)decimal(&end);
      if (end == digits || number < 3 || number >= FIRST_OWN_FILE || number == folder || number == scratch->file ||
          number == scratch->page_flags)
        continue;
      memcpy(path, "/proc/self/fd/", 14);
      strcpy(path + 14, digits);
      memcpy(scratch->paths, "it has open: ", 13);
      long length = kernel(__NR_readlink, (long)path, (long)scratch->paths + 13, 4096, 0, 0, 0);
      scratch->paths[13 + (length > 0 ? length : 0)] = 0;
      scratch->why = scratch->paths;
      is_alone = 0;
      break;
    }
  kernel(__NR_close, folder, 0, 0, 0, 0, 0);
  return is_alone;
}

static int write_at(long file, const void *from, uint64_t bytes, uint64_t at) {
  for (uint64_t done = 0; done < bytes;) {
    long wrote = kernel(__NR_pwrite64, file, (long)from + (long)done, (long)(bytes - done), (long)(at + done), 0, 0);
    if (wrote <= 0) return 0;
    done += (uint64_t)wrote;
  }
  return 1;
}

/* The tables are read again, as they are in the file. */
static int write_head(struct scratch *scratch) {
  struct snapshot *image = &scratch->image;
  if (!write_at(scratch->file, image, sizeof *image, 0)) return 0;
  long at = kernel(__NR_mmap, 0, (long)image->data_begin, PROT_READ, MAP_PRIVATE, scratch->file, 0);
  if (at < 0 && at > -PAGE) return 0;
  image->digest = digest_of((const struct snapshot *)at);
  return write_at(scratch->file, image, sizeof *image, 0);
}

static int write_image(struct scratch *scratch) {
  struct snapshot *image = &scratch->image;
  uint64_t files = image->file_count * sizeof *scratch->files;
  uint64_t segments = image->segment_count * sizeof *scratch->segments;
  image->magic = SNAPSHOT_MAGIC;
  image->files = sizeof *image;
  image->segments = image->files + files;
  uint64_t paths = image->segments + segments;
  image->bytes = (paths + scratch->path_bytes + 7) & -8UL; /* whole words */
  image->data_begin = (image->bytes + PAGE - 1) & -(uint64_t)PAGE;
  image->file_bytes = image->data_begin + scratch->data_pages * PAGE;
  for (uint32_t i = 0; i < image->file_count; i++) scratch->files[i].path += paths;
  for (uint32_t i = 0; i < image->segment_count; i++) {
    struct segment *segment = &scratch->segments[i];
    if (segment->source != DATA) continue;
    segment->offset += image->data_begin;
    if (!write_at(scratch->file, (const void *)segment->begin, segment->end - segment->begin, segment->offset))
      return 0;
  }
  if (image->segment_count == MOST_SEGMENTS || !write_at(scratch->file, scratch->files, files, image->files) ||
      !write_at(scratch->file, scratch->segments, segments, image->segments) ||
      !write_at(scratch->file, scratch->paths, scratch->path_bytes, paths))
    return 0;
  return write_head(scratch);
}

/* Between pages of its own, so that no other memory is of the same line of /proc/self/smaps. */
static struct scratch *new_scratch(void) {
  uint64_t bytes = (sizeof(struct scratch) + PAGE - 1) & -(uint64_t)PAGE;
  long at = kernel(__NR_mmap, 0, (long)bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at < 0 && at > -PAGE) return NULL;
  return kernel(__NR_mprotect, at + PAGE, (long)bytes, PROT_READ | PROT_WRITE, 0, 0, 0) ? NULL : (void *)(at + PAGE);
}

const char *save_process(const char *path, long **new_stack) {
  struct scratch *scratch = new_scratch();
  if (!scratch) return "it has too little memory";
  scratch->file = kernel(__NR_open, (long)path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644, 0, 0, 0);
  scratch->page_flags = kernel(__NR_open, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
  if (scratch->file < 0 || scratch->page_flags < 0) return "the file cannot be written, or /proc/self/pagemap not read";
  ask_kernel(&scratch->image);
  long stack = keep_registers(&scratch->image.registers);
  if (stack) {
    *new_stack = (long *)stack;
    return NULL;
  }
  int is_whole = has_no_open_files(scratch) && add_regions(scratch) && write_image(scratch);
  kernel(__NR_close, scratch->file, 0, 0, 0, 0, 0);
  kernel(__NR_close, scratch->page_flags, 0, 0, 0, 0, 0);
  const char *why = is_whole ? NULL : scratch->why ? scratch->why : "the file cannot be written";
  *new_stack = NULL;
  return why;
}
