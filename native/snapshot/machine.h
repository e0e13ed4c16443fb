/* What a snapshot asks of the machine: the processor's features, as the C library chose its functions by
 * them, and the kernel's vdso, as pointers into it were kept. */
#ifndef TRIMTAB_SNAPSHOT_MACHINE_H
#define TRIMTAB_SNAPSHOT_MACHINE_H

#include <stddef.h>
#include <stdint.h>

enum { MACHINE_BYTES = 16, VDSO_BYTES = 4096 };

static inline uint64_t mixed(uint64_t digest, uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15;
  return digest ^ digest >> 29;
}

static inline uint64_t processor_digest(void) {
  static const uint32_t leaves[][2] = {{0, 0}, {1, 0}, {7, 0}, {7, 1}, {0xd, 1}, {0x80000001, 0}};
  uint64_t digest = 1;
  for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
    uint32_t a, b, c, d;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(leaves[i][0]), "2"(leaves[i][1]));
    if (leaves[i][0] == 1) b = 0;     /* the number of this core */
    if (leaves[i][0] == 0xd) b = c = d = 0; /* the size in use */
    digest = mixed(mixed(digest, (uint64_t)a << 32 | b), (uint64_t)c << 32 | d);
  }
  return digest;
}

/* `vdso` is where the kernel says that it is (AT_SYSINFO_EHDR), or NULL. */
static inline uint64_t vdso_digest(const uint64_t *vdso) {
  uint64_t digest = 1;
  for (size_t i = 0; vdso && i < VDSO_BYTES / sizeof *vdso; i++) digest = mixed(digest, vdso[i]);
  return digest;
}

#endif
