#define _GNU_SOURCE
#include "redirect.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"

enum { JUMP_BYTES = 14, MOST = 8, KEPT_BYTES = 64 };

static struct replacement {
  const uint8_t *code;
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

/* The length of an operand by its ModRM byte; 0 where it is relative to the instruction. */
static size_t operand_length(const uint8_t *at) {
  int mode = *at >> 6, base = *at & 7;
  if (mode == 3) return 1;
  if (mode == 0 && base == 5) return 0;
  size_t length = base == 4 ? 2 : 1;
  if (mode == 0) return length + (base == 4 && (at[1] & 7) == 5 ? 4 : 0);
  return length + (mode == 1 ? 1 : 4);
}

/* The length of an instruction such as functions begin with, which does the same elsewhere; 0 for any
 * other: pushes, moves, and arithmetic with registers and the stack. */
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

/* Executable memory that does what `code` begins with and goes on behind it; NULL where it cannot be. */
static void *keep_beginning(const uint8_t *code, const uint8_t *place) {
  size_t length = 0;
  while (length < JUMP_BYTES) {
    size_t one = movable_length(code + length);
    if (!one) return NULL;
    length += one;
  }
  uint8_t *kept = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (kept == MAP_FAILED) return NULL;
  memcpy(kept, code, length);
  write_jump(kept + length, (uintptr_t)place + length);
  if (!mprotect(kept, PAGE_BYTES, PROT_READ | PROT_EXEC)) return kept;
  munmap(kept, PAGE_BYTES);
  return NULL;
}

/* `code` is what is, or will be, at the function's place. */
static void write_over(uint8_t *code, const struct replacement *replacement) {
  if (replacement->original && !*replacement->original) {
    *replacement->original = keep_beginning(code, replacement->code);
    if (!*replacement->original) return;
  }
  write_jump(code, replacement->to);
}

/* Before glibc 2.34 threads were in a library of their own. */
static void *find(const char *name) {
  static const char *const libraries[] = {"libc.so.6", "libpthread.so.0"};
  void *code = NULL;
  for (int i = 0; i < 2 && !code; i++) {
    void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    code = dlsym(library, name);
    dlclose(library);
  }
  return code;
}

void replace_function(const char *name, uintptr_t to, void **original) {
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  void *code = find(name);
  if (!code || !to || count == MOST) return;
  if (!dladdr1(code, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return;
  if (symbol->st_size < (original ? KEPT_BYTES : JUMP_BYTES)) return;
  replacements[count++] = (struct replacement){code, to, original};
}

void replace_with(const char *name, const char *other) {
  replace_function(name, (uintptr_t)find(other), NULL);
}

static const uint8_t *page_of(const uint8_t *address) {
  return address - (uintptr_t)address % PAGE_BYTES;
}

static int protect(const uint8_t *low, const uint8_t *high, int protection) {
  return mprotect((void *)page_of(low), (size_t)(high - page_of(low)), protection);
}

/* At once, as far as no page of the C library between them was removed. */
void redirect(void) {
  if (!count) return;
  const uint8_t *low = replacements[0].code, *high = low;
  for (int i = 1; i < count; i++) {
    if (replacements[i].code < low) low = replacements[i].code;
    if (replacements[i].code > high) high = replacements[i].code;
  }
  int whole = !protect(low, high + KEPT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
  if (!whole) protect(low, high + KEPT_BYTES, PROT_READ | PROT_EXEC); /* as far as that came */
  for (int i = 0; i < count; i++) {
    const uint8_t *code = replacements[i].code;
    size_t bytes = replacements[i].original ? KEPT_BYTES : JUMP_BYTES;
    if (!whole && protect(code, code + bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) continue;
    write_over((uint8_t *)code, &replacements[i]);
    if (!whole) protect(code, code + bytes, PROT_READ | PROT_EXEC);
  }
  if (whole) protect(low, high + KEPT_BYTES, PROT_READ | PROT_EXEC);
}

void redirect_in(uint8_t *pages, const uint8_t *place, size_t bytes) {
  for (int i = 0; i < count; i++) {
    size_t length = replacements[i].original ? KEPT_BYTES : JUMP_BYTES;
    size_t at = (size_t)(replacements[i].code - place);
    if (at < bytes && length <= bytes - at) write_over(pages + at, &replacements[i]);
  }
}
