/* Makes the functions of the vdso that read clocks, or draw by chance, system calls, as the filter sees those alone. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "recorded_call.h"

struct vdso {
  uint8_t *begin;
  const Elf64_Sym *symbols;
  const char *names;
  const uint32_t *hash;
  uint64_t bytes;
};

static void read_dynamic(struct vdso *vdso, const Elf64_Dyn *each) {
  for (; each->d_tag; each++) {
    if (each->d_tag == DT_SYMTAB) vdso->symbols = (const void *)(vdso->begin + each->d_un.d_ptr);
    if (each->d_tag == DT_STRTAB) vdso->names = (const void *)(vdso->begin + each->d_un.d_ptr);
    if (each->d_tag == DT_HASH) vdso->hash = (const void *)(vdso->begin + each->d_un.d_ptr);
  }
}

static void read_vdso(struct vdso *vdso) {
  const Elf64_Ehdr *header = (const void *)vdso->begin;
  const Elf64_Phdr *parts = (const void *)(vdso->begin + header->e_phoff);
  for (int i = 0; i < header->e_phnum; i++) {
    if (parts[i].p_type == PT_LOAD) vdso->bytes = parts[i].p_memsz;
    if (parts[i].p_type == PT_DYNAMIC) read_dynamic(vdso, (const void *)(vdso->begin + parts[i].p_offset));
  }
}

/* Newer ones have DT_GNU_HASH alone; the symbols end where the names begin. */
static size_t symbol_count(const struct vdso *vdso) {
  if (vdso->hash) return vdso->hash[1];
  return (size_t)((const uint8_t *)vdso->names - (const uint8_t *)vdso->symbols) / sizeof *vdso->symbols;
}

/* Make a function of the vdso `mov $number, %eax; syscall; ret`. */
static void make_call(uint8_t *function, uint32_t number) {
  function[0] = 0xb8;
  memcpy(function + 1, &number, sizeof number);
  memcpy(function + 5, "\x0f\x05\xc3", 3);
}

static void stop(const struct vdso *vdso, const Elf64_Sym *symbol) {
  static const struct {
    const char *name;
    uint32_t number;
  } clocks[] = {{"__vdso_clock_gettime", __NR_clock_gettime},
                {"__vdso_gettimeofday", __NR_gettimeofday},
                {"__vdso_time", __NR_time},
                {"__vdso_getrandom", __NR_getrandom}};
  for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
    if (!strcmp(vdso->names + symbol->st_name, clocks[i].name))
      make_call(vdso->begin + symbol->st_value, clocks[i].number);
}

int stop_clocks(void) {
  enum { PAGE_BYTES = 4096 };
  struct vdso vdso = {.begin = (uint8_t *)getauxval(AT_SYSINFO_EHDR)};
  if (!vdso.begin) return 1;
  read_vdso(&vdso);
  if (!vdso.symbols || !vdso.names) return 0;
  uint64_t bytes = (vdso.bytes + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
  if (mprotect(vdso.begin, bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) return 0;
  for (size_t i = 0; i < symbol_count(&vdso); i++) stop(&vdso, &vdso.symbols[i]);
  return 1;
}
