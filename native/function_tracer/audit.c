/* An audit library (rtld-audit(7)): the loader calls it for every object right after mapping it,
 * before relocation, ifunc resolvers and constructors. This includes objects opened later. */
#define _GNU_SOURCE
#include "../go_program/go_program.h"
#include "../records/guard_link.h"
#include "object.h"
#include "system.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>

static struct guard_link *guard;

static void after_fork(void) {
  start_process_record(1);
  guard->process = current_process;
}

static void on_trap(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  uint8_t *address = (uint8_t *)registers[REG_RIP] - 1;
  if (info->si_code > 0 && disarm_at(address)) {
    registers[REG_RIP] = (greg_t)address;
    return;
  }
  if (guard && guard->foreign_trap) guard->foreign_trap(number, info, context);
}

__asm__(".text\n.type trimtab_return_from_signal, @function\ntrimtab_return_from_signal:\n"
        "mov $15, %eax\nsyscall\n");
extern void trimtab_return_from_signal(void) __attribute__((visibility("hidden")));

/* No other signal interrupts the handler: the program's handler would run with traps blocked, and
 * crash in the first function that it is the first to use. */
static void catch_traps(void) {
  struct {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
  } action = {on_trap, SA_SIGINFO | SA_ONSTACK | 0x04000000 /* SA_RESTORER */,
              trimtab_return_from_signal, ~0ul};
  SYSTEM_CALL(SYS_rt_sigaction, SIGTRAP, &action, 0, sizeof action.mask, 0, 0);
  /* exec keeps the signal mask: a parent may have blocked the signal. */
  uint64_t trap = 1ull << (SIGTRAP - 1);
  SYSTEM_CALL(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, 0, sizeof trap, 0, 0);
}

static const ElfW(Dyn) *dynamic_entry(const struct link_map *map, ElfW(Sxword) tag) {
  for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == tag) return entry;
  return 0;
}

/* The loader adjusts these addresses at relocation, which comes later. */
static const void *dynamic_address(const struct link_map *map, ElfW(Sxword) tag) {
  const ElfW(Dyn) *entry = dynamic_entry(map, tag);
  if (!entry) return 0;
  ElfW(Addr) address = entry->d_un.d_ptr;
  return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

static struct guard_link *find_guard_link(const struct link_map *map) {
  const ElfW(Sym) *symbols = dynamic_address(map, DT_SYMTAB);
  const char *names = dynamic_address(map, DT_STRTAB);
  const uint32_t *hash = dynamic_address(map, DT_HASH); /* the guard is linked with one */
  for (uint32_t i = 0; symbols && names && hash && i < hash[1]; i++)
    if (symbols[i].st_shndx && text_equal(names + symbols[i].st_name, TRIMTAB_GUARD_LINK))
      return (struct guard_link *)(map->l_addr + symbols[i].st_value);
  return 0;
}

static int has_text_relocations(const struct link_map *map) {
  const ElfW(Dyn) *flags = dynamic_entry(map, DT_FLAGS);
  return dynamic_entry(map, DT_TEXTREL) || (flags && flags->d_un.d_val & DF_TEXTREL);
}

/* By its name for other objects: its file may be called libc-2.31.so. Before glibc 2.34 there were
 * several libraries, of which the last two start threads with every signal blocked. */
static int is_c_library(const struct link_map *map, const char *path) {
  static const char *const names[] = {"libc.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0",
                                      "librt.so.1", "libanl.so.1"};
  const ElfW(Dyn) *own_name = dynamic_entry(map, DT_SONAME);
  const char *texts = dynamic_address(map, DT_STRTAB);
  const char *name = own_name && texts ? texts + own_name->d_un.d_val : base_name(path);
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (text_equal(name, names[i])) return 1;
  return 0;
}

/* Map a file of at least `smallest` bytes. */
static int map_file(const char *path, size_t smallest, struct stat *status, const uint8_t **file) {
  long descriptor = SYSTEM_CALL(SYS_open, path, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
  if (descriptor < 0) return 0;
  int mapped = 0;
  if (SYSTEM_CALL(SYS_fstat, descriptor, status, 0, 0, 0, 0) == 0 &&
      (size_t)status->st_size >= smallest) {
    *file = memory_map((size_t)status->st_size, PROT_READ, MAP_PRIVATE, (int)descriptor);
    mapped = !failed(*file);
  }
  SYSTEM_CALL(SYS_close, descriptor, 0, 0, 0, 0, 0);
  return mapped;
}

/* Whether an object's code must not change, by the list in the record's folder. */
static int is_left_alone(const char *path) {
  char name[TRIMTAB_PATH_BYTES + 32], *limit = name + sizeof name;
  struct stat status;
  const uint8_t *list;
  append_text(append_text(name, limit, record_directory), limit, "/" TRIMTAB_LEFT_ALONE);
  if (!map_file(name, 1, &status, &list)) return 0;
  const char *entry = (const char *)list, *end = entry + status.st_size;
  int found = 0;
  while (entry < end && !found) {
    found = text_equal(entry, path);
    while (entry < end && *entry) entry++;
    entry++;
  }
  SYSTEM_CALL(SYS_munmap, list, status.st_size, 0, 0, 0, 0);
  return found;
}

static int code_segment_of(const ElfW(Phdr) *headers, unsigned count, struct code_segment *code) {
  int found = 0;
  for (unsigned i = 0; i < count; i++) {
    if (headers[i].p_type != PT_LOAD || !(headers[i].p_flags & PF_X)) continue;
    if (headers[i].p_flags & PF_W) return 0;
    if (headers[i].p_vaddr + headers[i].p_filesz > UINT32_MAX) return 0;
    /* Linkers write one; if there are several (a debloated library has hundreds), none is
     * watched. */
    if (found++) return 0;
    *code = (struct code_segment){(uint32_t)headers[i].p_vaddr, (uint32_t)headers[i].p_filesz,
                                  headers[i].p_offset};
  }
  return found;
}

static enum object_status watch(struct watched_object *object, const struct link_map *map,
                                const uint8_t *file, const struct stat *status, const char *path) {
  const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file;
  uint64_t file_bytes = (uint64_t)status->st_size;
  struct code_segment code;
  if (header->e_phoff > file_bytes ||
      (uint64_t)header->e_phnum * sizeof(ElfW(Phdr)) > file_bytes - header->e_phoff)
    return OBJECT_NOT_READABLE;
  const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(file + header->e_phoff);
  if (!code_segment_of(headers, header->e_phnum, &code)) return OBJECT_NO_UNWIND_TABLE;
  if (code.file_offset > file_bytes || code.size > file_bytes - code.file_offset)
    return OBJECT_NOT_READABLE;
  uint8_t *base = (uint8_t *)map->l_addr;
  int64_t rows = read_unwind_table(base, headers, header->e_phnum, code, 0, 0);
  if (rows <= 0) return OBJECT_NO_UNWIND_TABLE;

  size_t array_bytes = (size_t)rows * sizeof(uint32_t);
  uint32_t *arrays = memory_map(2 * array_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (failed(arrays)) return OBJECT_NOT_READABLE;
  uint32_t *sizes = arrays + rows;
  int64_t count = read_unwind_table(base, headers, header->e_phnum, code, arrays, sizes);
  if (count <= 0) return OBJECT_NO_UNWIND_TABLE;

  uintptr_t first = (uintptr_t)(base + code.address) & ~4095ul;
  size_t length = (uintptr_t)(base + code.address) + code.size - first;
  if (SYSTEM_CALL(SYS_mprotect, first, length, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0))
    return OBJECT_NOT_WRITABLE;
  struct object_record *record = new_object_record(path, (uint32_t)count, status);
  if (!record) return OBJECT_NOT_WRITABLE;
  uint32_t *starts = (uint32_t *)(record + 1);
  __builtin_memcpy(starts, arrays, (size_t)count * sizeof *starts);
  *object = (struct watched_object){
      .base = base,
      .code = base + code.address,
      .code_end = base + code.address + code.size,
      .original = file,
      .original_bias = (int64_t)code.file_offset - code.address,
      .file_bytes = file_bytes,
      .function_count = (uint32_t)count,
      .starts = starts,
      .used = (uint8_t *)(starts + count),
      .sizes = sizes,
      .record = record,
  };
  forget_closed(object->code, object->code_end);
  arm(object);
  object->state = WATCHED;
  return OBJECT_WATCHED;
}

/* l_name is empty for the program itself, and relative if it was opened by a relative path. */
static const char *absolute_path(const struct link_map *map, char *path, size_t path_bytes) {
  const char *name = *map->l_name ? map->l_name : "/proc/self/exe";
  long file = SYSTEM_CALL(SYS_open, name, O_PATH | O_CLOEXEC, 0, 0, 0, 0);
  if (file < 0) return 0;
  char link[64];
  append_number(append_text(link, link + sizeof link, "/proc/self/fd/"), link + sizeof link,
                (uint64_t)file);
  long length = SYSTEM_CALL(SYS_readlink, link, path, path_bytes - 1, 0, 0, 0);
  SYSTEM_CALL(SYS_close, file, 0, 0, 0, 0, 0);
  if (length <= 0) return 0;
  path[length] = 0;
  return path;
}

/* Its end would not be recorded, and its own handlers take SIGTRAP. */
static int is_program_of_go(void) {
  long file = SYSTEM_CALL(SYS_open, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
  if (file < 0) return 0;
  int found = is_of_go(file);
  SYSTEM_CALL(SYS_close, file, 0, 0, 0, 0, 0);
  return found;
}

__attribute__((visibility("default"))) unsigned int la_version(unsigned int version) {
  if (!initial_environment("TRIMTAB_RECORD", record_directory, TRIMTAB_PATH_BYTES)) return 0;
  if (is_program_of_go()) return 0;
  start_process_record(0);
  if (!current_process) return 0;
  catch_traps();
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

__attribute__((visibility("default"))) unsigned int la_objopen(struct link_map *map, Lmid_t space,
                                                               uintptr_t *cookie) {
  (void)space;
  char path[TRIMTAB_PATH_BYTES];
  struct stat status;
  const uint8_t *file = 0;
  *cookie = 0;
  const char *name = absolute_path(map, path, sizeof path);
  if (!name) return 0; /* linux-vdso has no file */
  if (text_equal(base_name(name), "libtrimtab-guard.so")) {
    guard = find_guard_link(map);
    if (guard) {
      guard->process = current_process;
      guard->after_fork = after_fork;
    }
    return 0;
  }
  enum object_status why = OBJECT_WATCHED;
  if (is_c_library(map, name)) why = OBJECT_C_LIBRARY;
  else if (has_text_relocations(map)) why = OBJECT_TEXT_RELOCATIONS;
  else if (is_left_alone(name)) why = OBJECT_LEFT_ALONE;
  /* As the kernel mapped it: the file has its program headers. */
  if (!map_file(name, sizeof(ElfW(Ehdr)) + 1, &status, &file)) why = OBJECT_NOT_READABLE;
  if (why == OBJECT_WATCHED) {
    struct watched_object *object = add_object();
    why = object ? watch(object, map, file, &status, name) : OBJECT_NOT_READABLE;
    if (why == OBJECT_WATCHED) {
      *cookie = (uintptr_t)object;
      return 0;
    }
  }
  if (!file) __builtin_memset(&status, 0, sizeof status);
  struct object_record *record = new_object_record(name, 0, &status);
  if (record) record->status = why;
  if (file) SYSTEM_CALL(SYS_munmap, file, status.st_size, 0, 0, 0, 0);
  return 0;
}

__attribute__((visibility("default"))) unsigned int la_objclose(uintptr_t *cookie) {
  struct watched_object *object = (struct watched_object *)*cookie;
  if (object) object->state = CLOSED; /* another object may soon have its addresses */
  return 0;
}
