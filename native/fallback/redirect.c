#define _GNU_SOURCE
#include "redirect.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "../own_library/own_library.h"
#include "../own_library/symbols.h"
#include "memory.h"

enum { JUMP_BYTES = 14, MOST = 8, KEPT_BYTES = 64 };

static struct replacement {
  const char *name;
  uintptr_t library;
  uint8_t *code;
  size_t bytes;
  uintptr_t to;
  void **original;
} replacements[MOST];
static int count;

/* `jmp *0(%rip)` and an address. */
static void write_jump(uint8_t *at, uintptr_t to) {
  static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
  memcpy(at, jump, sizeof jump);
  memcpy(at + sizeof jump, &to, sizeof to);
}

/* The length of an operand, from its ModRM byte; 0 if it is relative to the instruction. */
static size_t operand_length(const uint8_t *at) {
  int mode = *at >> 6, base = *at & 7;
  if (mode == 3) return 1;
  if (mode == 0 && base == 5) return 0;
  size_t length = base == 4 ? 2 : 1;
  if (mode == 0) return length + (base == 4 && (at[1] & 7) == 5 ? 4 : 0);
  return length + (mode == 1 ? 1 : 4);
}

/* The length of an instruction that does the same at another address; 0 for any other. These are
 * the usual first instructions of functions: pushes, moves, and arithmetic with registers and the
 * stack. */
static size_t movable_length(const uint8_t *code) {
  static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (!memcmp(code, endbr64, sizeof endbr64)) return sizeof endbr64;
  size_t prefixes = *code == 0x64; /* %fs */
  if ((code[prefixes] & 0xf0) == 0x40) prefixes++;
  const uint8_t *at = code + prefixes;
  if (*at >= 0x50 && *at <= 0x57) return prefixes + 1;
  size_t operand = operand_length(at + 1), constant = 0;
  switch (*at) {
    case 0x81: constant = 4; break;
    case 0x83: constant = 1; break;
    case 0x31: case 0x33: case 0x85: case 0x89: case 0x8b: case 0x8d: break;
    default: return 0;
  }
  return operand ? prefixes + 1 + operand + constant : 0;
}

/* Return executable memory with the first instructions of `code` and a jump to the rest; NULL if
 * that is not possible. One function is kept so. */
static void *keep_beginning(const uint8_t *code) {
  static uint8_t kept[PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));
  size_t length = 0;
  while (length < JUMP_BYTES) {
    size_t one = movable_length(code + length);
    if (!one) return NULL;
    length += one;
  }
  memcpy(kept, code, length);
  write_jump(kept + length, (uintptr_t)code + length);
  return mprotect(kept, PAGE_BYTES, PROT_READ | PROT_EXEC) ? NULL : kept;
}

static void write_over(const struct replacement *replacement) {
  if (replacement->original) {
    *replacement->original = keep_beginning(replacement->code);
    if (!*replacement->original) return;
  }
  write_jump(replacement->code, replacement->to);
}

/* Before glibc 2.34 threads were in a separate library. */
void *find_function(const char *name) {
  static const char *const libraries[] = {"libc.so.6", "libpthread.so.0"};
  static void *opened[2];
  void *code = NULL;
  for (int i = 0; i < 2 && !code; i++) {
    if (!opened[i]) opened[i] = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (opened[i]) code = dlsym(opened[i], name);
  }
  return code;
}

/* Take a library's function if its code has room; dladdr1(3) would look at all symbols. */
static int take_function(struct dl_phdr_info *info, size_t size, void *data) {
  struct replacement *wanted = data;
  struct symbols symbols;
  const ElfW(Sym) *symbol;
  (void)size;
  if (!holds(info, wanted->code)) return 0;
  if (!find_symbols(info, &symbols)) return 1;
  for (uint32_t next = 0; (symbol = symbol_named(&symbols, wanted->name, &next));) {
    if (info->dlpi_addr + symbol->st_value != (uintptr_t)wanted->code) continue;
    wanted->library = info->dlpi_addr;
    if (symbol->st_size >= wanted->bytes) replacements[count++] = *wanted;
    break;
  }
  return 1;
}

void replace_function(const char *name, uintptr_t to, void **original) {
  struct replacement wanted = {name, 0, find_function(name), original ? KEPT_BYTES : JUMP_BYTES, to, original};
  if (wanted.code && to && count < MOST) dl_iterate_phdr(take_function, &wanted);
}

void replace_with(const char *name, const char *other) {
  replace_function(name, (uintptr_t)find_function(other), NULL);
}

static const uint8_t *page_of(const uint8_t *address) {
  return address - (uintptr_t)address % PAGE_BYTES;
}

static int protect(const uint8_t *low, const uint8_t *high, int more) {
  const uint8_t *first = page_of(low);
  return mprotect((void *)first, (size_t)(high - first), PROT_READ | PROT_EXEC | more);
}

/* All functions of a library at once: this takes two system calls instead of two each. */
void redirect(void) {
  for (int first = 0, next; first < count; first = next) {
    const uint8_t *low = replacements[first].code, *high = low;
    for (next = first; next < count; next++) {
      const struct replacement *one = &replacements[next];
      if (one->library != replacements[first].library) break;
      if (one->code < low) low = one->code;
      if (one->code + one->bytes > high) high = one->code + one->bytes;
    }
    if (protect(low, high, PROT_WRITE)) continue;
    for (int i = first; i < next; i++) write_over(&replacements[i]);
    protect(low, high, 0);
  }
}
