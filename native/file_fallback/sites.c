/* A system call in glibc is the instruction `syscall` and a comparison of its result with -4096:
 * eight or seven bytes that mean nothing else. They are replaced by a jump to a few instructions
 * that call answer.c and make the comparison. So calls inside the C library, as in fopen(3) and
 * setlocale(3), and in the dynamic linker are intercepted too. This works for programs that were
 * bound to the C library before, such as Python. errno, locks and cancellation stay with the C
 * library. */
#define _GNU_SOURCE
#include "sites.h"

#include <asm/unistd_64.h>
#include <elf.h>
#include <emmintrin.h>
#include <sys/mman.h>

#include "../own_library/own_library.h"
#include "../own_library/symbols.h"
#include "answer.h"
#include "calls.h"
#include "jumps.h"
#include "known_sites.h"
#include "system.h"

enum {
  STUB_BYTES = 40,
  MOST_STUBS = 200,
  MOST_TEXTS = 8,
  AREA_BYTES = 8192,
  NEAR_CALL = 64,     /* bytes before a call for loading its number */
  AFTER_SYMBOL = 512, /* some calls of a function are in a nameless function after it */
  PAGE_BYTES = 4096
};

/* Functions of glibc and, in programs without threads before 2.34, of libpthread. */
static const char *const functions[] = {
    "__open_nocancel", "open", "openat", "creat", "__xstat", "__lxstat", "__fxstatat", "fstatat",
    "statx", "access", "faccessat", "readlink", "readlinkat", "execve", "execveat", "fexecve",
    "chdir", "chroot", "truncate", "statfs", "chmod", "fchmodat", "chown", "lchown", "fchownat",
    "utime", "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr", "getxattr", "lgetxattr",
    "listxattr", "llistxattr", "removexattr", "lremovexattr", "inotify_add_watch",
    "name_to_handle_at", "mkdir", "mkdirat", "mknod", "__xmknodat", "mknodat", "symlink", "symlinkat",
    "link", "linkat", "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "getdents64",
    "syscall", "wait4"};
static int takes_waits;

extern int dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *)
    __attribute__((weak));

extern int *__errno_location(void) __attribute__((weak));

/* rax has the number. A leaf function may use the 128 bytes below its stack pointer; the stub has
 * skipped them. */
__asm__(".text\n"
        "enter:\n\t"
        "push %rbp\n\tmov %rsp, %rbp\n\t"
        "push %r9\n\tpush %r8\n\tpush %r10\n\tpush %rdx\n\tpush %rsi\n\tpush %rdi\n\t"
        "mov %rsp, %rsi\n\tmov %rax, %rdi\n\t"
        "and $-16, %rsp\n\t"
        "call answer\n\t"
        "lea -48(%rbp), %rsp\n\t"
        "pop %rdi\n\tpop %rsi\n\tpop %rdx\n\tpop %r10\n\tpop %r8\n\tpop %r9\n\t"
        "pop %rbp\n\tret\n");
extern void enter(void) __attribute__((visibility("hidden")));

static uint8_t *area; /* the address of `enter`, then stubs */
static uint8_t own_area[AREA_BYTES] __attribute__((aligned(PAGE_BYTES)));
static int stubs;
static uint8_t *taken[MOST_STUBS]; /* the calls that the stubs replace */
static struct {
  uint8_t *begin, *end;
} texts[MOST_TEXTS]; /* of the calls; the whole pages of these are changed */
static int text_count;

static uint8_t *put_bytes(uint8_t *to, const void *bytes, size_t count) {
  memcpy(to, bytes, count);
  return to + count;
}

static uint8_t *put_distance(uint8_t *to, const uint8_t *target) {
  int32_t distance = (int32_t)(target - (to + sizeof distance));
  return put_bytes(to, &distance, sizeof distance);
}

static int is_near(const uint8_t *a, const uint8_t *b) {
  int64_t distance = a - b;
  return distance < INT32_MAX - AREA_BYTES && distance > INT32_MIN + AREA_BYTES;
}

static int has_area(const uint8_t *near) {
  enum { HINTS = 64 };
  if (!area && is_near(own_area, near)) area = own_area;
  for (int hint = 0; !area && hint < HINTS; hint++) {
    long wanted = ((long)near & -PAGE_BYTES) - ((long)hint << 24) - AREA_BYTES;
    long at = kernel(__NR_mmap, wanted, AREA_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0 && at > -PAGE_BYTES) return 0;
    if (is_near((uint8_t *)at, near)) area = (uint8_t *)at;
    else drop_memory((void *)at, AREA_BYTES);
  }
  if (!area) return 0;
  void (*target)(void) = enter;
  memcpy(area, &target, sizeof target);
  return is_near(area, near);
}

/* The bytes of the comparison after a `syscall`: cmp $-4096 or $-4095, %rax or %eax. */
static size_t comparison_at(const uint8_t *at) {
  size_t wide = at[0] == 0x48;
  at += wide;
  if (at[0] != 0x3d || at[1] > 1 || at[2] != 0xf0 || at[3] != 0xff || at[4] != 0xff) return 0;
  return 5 + wide;
}

/* Whether a `mov $number, %eax` with one of our numbers precedes a call. */
static int loads_number(const uint8_t *call, const uint8_t *begin) {
  const uint8_t *from = call - begin > NEAR_CALL ? call - NEAR_CALL : begin;
  for (; from + 5 <= call; from++) {
    uint32_t number;
    if (*from != 0xb8) continue;
    memcpy(&number, from + 1, sizeof number);
    if (call_of(number) || number == __NR_getdents64) return 1;
    if (takes_waits && number == __NR_wait4) return 1;
  }
  return 0;
}

/* lea -128(%rsp), %rsp; call *area(%rip); lea 128(%rsp), %rsp; the comparison; a jump back. */
static void make_stub(uint8_t *call, size_t comparison) {
  static const uint8_t lower[] = {0x48, 0x8d, 0x64, 0x24, 0x80}, ask[] = {0xff, 0x15},
                       raise[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0}, jump = 0xe9;
  uint8_t *at = area + sizeof(void *) + (size_t)stubs * STUB_BYTES;
  taken[stubs++] = call;
  at = put_bytes(at, lower, sizeof lower);
  at = put_distance(put_bytes(at, ask, sizeof ask), area);
  at = put_bytes(at, raise, sizeof raise);
  at = put_bytes(at, call + 2, comparison);
  put_distance(put_bytes(at, &jump, 1), call + 2 + comparison);
}

/* Most that are taken were found just before, by a function in front. */
static int is_taken(const uint8_t *call) {
  for (int i = stubs; i--;)
    if (taken[i] == call) return 1;
  return 0;
}

static int has_call(const uint8_t *function, size_t bytes) {
  for (int i = 0; i < stubs; i++)
    if (taken[i] >= function && taken[i] < function + bytes) return 1;
  return 0;
}

/* A bit for each of the 16 bytes from `at` on where `syscall` may be. */
static unsigned calls_in(const uint8_t *at) {
  __m128i first = _mm_loadu_si128((const __m128i *)at);
  __m128i second = _mm_loadu_si128((const __m128i *)(at + 1));
  return (unsigned)_mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8(0x0f)),
                                                   _mm_cmpeq_epi8(second, _mm_set1_epi8(0x05))));
}

static void find_calls(uint8_t *from, uint8_t *to, uint8_t *begin, uint8_t *end, int any_number) {
  enum { STEP = 16, LONGEST_CALL = 8 };
  if (to > end - STEP - LONGEST_CALL) to = end - STEP - LONGEST_CALL;
  for (; from < to; from += STEP)
    for (unsigned found = calls_in(from); found; found &= found - 1) {
      uint8_t *at = from + __builtin_ctz(found);
      size_t comparison = comparison_at(at + 2);
      if (!comparison || stubs == MOST_STUBS || is_taken(at)) continue;
      if ((any_number || loads_number(at, begin)) && !is_jumped_to(at + 2, begin, end))
        make_stub(at, comparison);
    }
}

/* From glibc 2.41 on these functions use one common function for all waiting calls, with the number
 * in a register. They then begin with a jump to ours. */
static int made(long number, const void *a, long b, long c, long d) {
  const long arguments[6] = {(long)a, b, c, d, 0, 0};
  long result = answer(number, arguments);
  if (result >= 0 || result <= -PAGE_BYTES) return (int)result;
  if (__errno_location) *__errno_location() = (int)-result;
  return -1;
}
static int our_open(const char *path, int flags, unsigned mode) {
  return made(__NR_open, path, flags, (long)mode, 0);
}
static int our_openat(int folder, const char *path, int flags, unsigned mode) {
  return made(__NR_openat, (const void *)(long)folder, (long)path, flags, (long)mode);
}
static int our_creat(const char *path, unsigned mode) {
  return made(__NR_creat, path, (long)mode, 0, 0);
}

/* For a function without a found call: jmp *0(%rip), and its target. */
static void replace(uint8_t *function, const char *name) {
  static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
  void *ours = is_same(name, "open")     ? (void *)our_open
               : is_same(name, "openat") ? (void *)our_openat
               : is_same(name, "creat")  ? (void *)our_creat
                                         : NULL;
  if (!ours || stubs == MOST_STUBS || is_taken(function)) return;
  uint8_t *at = area + sizeof(void *) + (size_t)stubs * STUB_BYTES;
  taken[stubs++] = function;
  put_bytes(put_bytes(at, jump, sizeof jump), &ours, sizeof ours);
}

/* Find the calls in the functions of one name. */
static void find_in_function(const struct dl_phdr_info *info, const struct symbols *symbols,
                               const char *name, uint8_t *begin, uint8_t *end) {
  const ElfW(Sym) *symbol;
  for (uint32_t next = 0; (symbol = symbol_named(symbols, name, &next));) {
    uint8_t *from = (uint8_t *)info->dlpi_addr + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || from < begin || from >= end) continue;
    find_calls(from, from + AFTER_SYMBOL, begin, end, is_same(name, "syscall"));
    if (!has_call(from, symbol->st_size)) replace(from, name);
  }
}

static int is_call(const uint8_t *at) { return at[0] == 0x0f && at[1] == 0x05 && comparison_at(at + 2); }

/* Take the calls of an object that are known; returns 0 if they are not. */
static int take_known(const struct dl_phdr_info *info, const uint8_t *begin, const uint8_t *end) {
  enum { CALL_BYTES = 8 };
  const uint32_t *places = NULL;
  uint8_t *base = (uint8_t *)info->dlpi_addr;
  uint32_t count = takes_waits ? 0 : known_places(info, &places);
  for (uint32_t i = 0; i < count; i++)
    if (base + places[i] < begin || base + places[i] > end - CALL_BYTES || !is_call(base + places[i])) return 0;
  for (uint32_t i = 0; i < count && stubs < MOST_STUBS; i++)
    make_stub(base + places[i], comparison_at(base + places[i] + 2));
  return count > 0;
}

/* The whole pages of the calls that were found in a text, from stub number `from` on. */
static void note_text(int from) {
  enum { LONGEST_CHANGE = 14 };
  if (from == stubs) return;
  uint8_t *low = taken[from], *high = low;
  for (int i = from; i < stubs; i++) {
    if (taken[i] < low) low = taken[i];
    if (taken[i] > high) high = taken[i];
  }
  texts[text_count].begin = (uint8_t *)((uintptr_t)low & -(uintptr_t)PAGE_BYTES);
  texts[text_count++].end = high + LONGEST_CHANGE;
}

static const char *base_name(const char *path) {
  const char *name = path;
  for (; *path; path++)
    if (*path == '/') name = path + 1;
  return name;
}

static int find_in_object(struct dl_phdr_info *info, size_t size, void *data) {
  const char *name = base_name(info->dlpi_name ? info->dlpi_name : "");
  int is_linker = begins_with(name, "ld-linux") || begins_with(name, "ld-2.");
  struct symbols symbols;
  (void)size;
  (void)data;
  if (!is_linker && !begins_with(name, "libc.so.6") && !begins_with(name, "libc-2.") &&
      !begins_with(name, "libpthread"))
    return 0;
  if (!find_symbols(info, &symbols)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
    uint8_t *begin = (uint8_t *)(info->dlpi_addr + header->p_vaddr), *end = begin + header->p_memsz;
    if (text_count == MOST_TEXTS || !has_area(begin)) continue;
    int before = stubs;
    int is_known = take_known(info, begin, end);
    if (!is_known && is_linker) find_calls(begin, end, begin, end, 0);
    if (!is_known && !is_linker)
      for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        find_in_function(info, &symbols, functions[f], begin, end);
    note_text(before);
  }
  return 0;
}

/* Write down what is found in this process, where nobody has changed the calls: first in the C library,
 * then in the linker. Before glibc 2.34 there is another library with some. */
static int note_object(struct dl_phdr_info *info, size_t size, void *data) {
  struct known_sites *known = data;
  int before = stubs, is_linker = known->library_count > 0;
  find_in_object(info, size, NULL);
  if (stubs == before) return 0;
  const uint8_t *id = build_id(info);
  if (!id || known->linker_count || is_linker != begins_with(base_name(info->dlpi_name), "ld-")) return 1;
  for (int i = before; i < stubs; i++) {
    if (!is_call(taken[i])) return 1;
    known->places[i] = (uint32_t)(taken[i] - (uint8_t *)info->dlpi_addr);
  }
  memcpy(is_linker ? known->linker_id : known->library_id, id, BUILD_ID_BYTES);
  *(is_linker ? &known->linker_count : &known->library_count) = (uint32_t)(stubs - before);
  return 0;
}

/* Called when an environment is made; returns whether `known` is complete. */
__attribute__((visibility("default"))) int trimtab_find_sites(struct known_sites *known);
int trimtab_find_sites(struct known_sites *known) {
  return dl_iterate_phdr && !dl_iterate_phdr(note_object, known) && known->linker_count && known->library_count;
}

static int names_us(struct dl_phdr_info *object, size_t size, void *name) {
  (void)size;
  *(const char **)name = object->dlpi_name;
  return holds(object, (void *)enter);
}

const char *own_path(void) {
  const char *path = NULL;
  return dl_iterate_phdr && dl_iterate_phdr(names_us, &path) ? path : NULL;
}

/* Pages stay executable, as other threads may run. */
static long protect_texts(int protection) {
  long error = 0;
  for (int i = 0; i < text_count; i++)
    error |= KERNEL(__NR_mprotect, texts[i].begin, texts[i].end - texts[i].begin, protection, 0);
  return error;
}

void take_over_calls(int also_waits) {
  static const uint8_t jump = 0xe9;
  if (!dl_iterate_phdr) return;
  takes_waits = also_waits;
  dl_iterate_phdr(find_in_object, NULL);
  if (!area || KERNEL(__NR_mprotect, area, AREA_BYTES, PROT_READ | PROT_EXEC, 0)) return;
  if (!protect_texts(PROT_READ | PROT_WRITE | PROT_EXEC))
    for (int i = 0; i < stubs; i++)
      put_distance(put_bytes(taken[i], &jump, 1),
                   area + sizeof(void *) + (size_t)i * STUB_BYTES);
  protect_texts(PROT_READ | PROT_EXEC);
}
