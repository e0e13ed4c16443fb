/* Function starts and sizes from .eh_frame_hdr and .eh_frame (Linux Standard Base, core, 10.6;
 * pointer encodings: DWARF exception header encoding). Stripped objects have them too. */
#include "object.h"

enum { ENCODING_DATA_RELATIVE_SIGNED_4 = 0x3b, ENCODING_PC_RELATIVE_SIGNED_4 = 0x1b };
enum { ENCODING_UNSIGNED_4 = 0x03, ENCODING_OMITTED = 0xff };

struct table_row {
  int32_t start, description; /* relative to the header */
};

static int32_t signed_4(const uint8_t *at) {
  int32_t value;
  __builtin_memcpy(&value, at, 4);
  return value;
}

static int holds(const ElfW(Phdr) *segment, ElfW(Addr) address, uint64_t size) {
  return segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
         address - segment->p_vaddr <= segment->p_filesz &&
         size <= segment->p_filesz - (address - segment->p_vaddr);
}

static const ElfW(Phdr) *segment_of(const ElfW(Phdr) *headers, unsigned count, ElfW(Addr) address,
                                    uint64_t size) {
  for (unsigned i = 0; i < count; i++)
    if (holds(&headers[i], address, size)) return &headers[i];
  return 0;
}

/* The pointer encoding in a CIE's augmentation, or ENCODING_OMITTED if it is unreadable. */
static uint8_t pointer_encoding(const uint8_t *cie, const uint8_t *end) {
  if (cie + 9 > end || signed_4(cie + 4) != 0) return ENCODING_OMITTED;
  const uint8_t *augmentation = cie + 9, *at = augmentation;
  while (at < end && *at) at++;
  if (*augmentation != 'z') return *augmentation ? ENCODING_OMITTED : 0;
  at++;
  for (int numbers = 0; numbers < 3; numbers++) { /* code and data alignment, return register */
    while (at < end && *at & 0x80) at++;
    at++;
  }
  while (at < end && *at & 0x80) at++; /* length of the augmentation data */
  at++;
  for (const uint8_t *letter = augmentation + 1; *letter && at < end; letter++) {
    if (*letter == 'R') return *at;
    if (*letter == 'L') at++;
    else if (*letter == 'P') at += 1 + ((*at & 7) == 0 || (*at & 7) == 4 ? 8 : (*at & 7) == 2 ? 2 : 4);
    else if (*letter != 'S' && *letter != 'B') return ENCODING_OMITTED;
  }
  return 0;
}

int64_t read_unwind_table(const uint8_t *base, const ElfW(Phdr) *headers, unsigned header_count,
                          struct code_segment code, uint32_t *starts, uint32_t *sizes) {
  const ElfW(Phdr) *table_header = 0;
  for (unsigned i = 0; i < header_count; i++)
    if (headers[i].p_type == PT_GNU_EH_FRAME) table_header = &headers[i];
  const ElfW(Phdr) *segment =
      table_header ? segment_of(headers, header_count, table_header->p_vaddr, 12) : 0;
  if (!segment) return -1;
  const uint8_t *table = base + table_header->p_vaddr;
  if (table[0] != 1 || table[1] != ENCODING_PC_RELATIVE_SIGNED_4 ||
      table[2] != ENCODING_UNSIGNED_4 || table[3] != ENCODING_DATA_RELATIVE_SIGNED_4)
    return -1;
  uint32_t rows = (uint32_t)signed_4(table + 8);
  uint64_t room = segment->p_vaddr + segment->p_filesz - table_header->p_vaddr - 12;
  if (rows > room / sizeof(struct table_row)) return -1;
  if (!starts) return rows;

  /* .eh_frame may be in another segment: compilers that write absolute pointers into it make it
   * writable. */
  ElfW(Addr) frames = table_header->p_vaddr + 4 + (uint64_t)(int64_t)signed_4(table + 4);
  segment = segment_of(headers, header_count, frames, 4);
  if (!segment) return -1;
  const uint8_t *low = base + segment->p_vaddr, *high = low + segment->p_filesz;
  const struct table_row *row = (const struct table_row *)(table + 12);
  const uint8_t *known_cie = 0;
  uint8_t encoding = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < rows; i++) {
    if (i && row[i].start < row[i - 1].start) return -1;
    uint64_t start = (uint64_t)(table - base) + (int64_t)row[i].start;
    const uint8_t *fde = table + row[i].description;
    if (fde < low || fde + 24 > high) return -1;
    const uint8_t *cie = fde + 4 - (uint32_t)signed_4(fde + 4);
    if (cie < low || cie + 24 > high) return -1;
    if (cie != known_cie) {
      encoding = pointer_encoding(cie, high);
      known_cie = cie;
    }
    uint64_t size;
    if (encoding == ENCODING_OMITTED) return -1;
    if ((encoding & 7) == 3) size = (uint32_t)signed_4(fde + 12);
    else if ((encoding & 7) == 4 || (encoding & 7) == 0) __builtin_memcpy(&size, fde + 16, 8);
    else return -1;
    if (start < code.address || start - code.address >= code.size) continue;
    if (size > code.address + (uint64_t)code.size - start) continue;
    if (count && starts[count - 1] + (uint64_t)sizes[count - 1] > start)
      sizes[count - 1] = (uint32_t)start - starts[count - 1];
    if (!size) continue;
    starts[count] = (uint32_t)start;
    sizes[count++] = (uint32_t)size;
  }
  return count;
}
