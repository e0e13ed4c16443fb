/* An object of the program whose functions are traced. */
#ifndef TRIMTAB_OBJECT_H
#define TRIMTAB_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdint.h>

#include "../records/functions.h"

/* A closed object is unmapped, except at the process's end: then destructors and other threads
 * still run its code, possibly for the first time. */
enum watch_state { NOT_WATCHED, WATCHED, CLOSED };

struct watched_object {
  uint8_t *base;           /* load address: the base of ELF addresses */
  uint8_t *code, *code_end; /* the span of its executable segments in memory */
  const uint8_t *original; /* the file, mapped a second time; `original_bias` makes */
  int64_t original_bias;   /* original + address + bias the byte at an ELF address */
  uint64_t file_bytes;
  uint32_t function_count;
  const uint32_t *starts; /* ELF addresses, ascending; in the record */
  uint8_t *used;          /* in the record */
  uint32_t *sizes;
  struct object_record *record;
  volatile uint32_t state; /* enum watch_state */
};

/* One executable segment, in memory and in the file. */
struct code_segment {
  uint32_t address, size;
  uint64_t file_offset;
};

/* Return the number of functions in an object's .eh_frame_hdr, or -1 without a reliable table. With
 * `starts` null it only counts the table's rows. Functions outside [code, code_end), empty or
 * beyond the next one's start are cut or left out. */
int64_t read_unwind_table(const uint8_t *base, const ElfW(Phdr) *headers, unsigned header_count,
                          struct code_segment code, uint32_t *starts, uint32_t *sizes);

/* Overwrite every function with traps; functions that differ from the file count as used. */
void arm(struct watched_object *object);

/* Find the function at `address` and restore its bytes. Returns 0 if the trap is the program's own,
 * or the address is in no watched object. */
int disarm_at(uint8_t *address);

/* Another object has these addresses now: forget closed objects there. */
void forget_closed(const uint8_t *code, const uint8_t *code_end);

/* The watched objects of this process; `add_object` is called with the loader's lock held. */
struct watched_object *add_object(void);

/* Called once per process, at its start and after a fork. */
void start_process_record(int by_fork);
extern struct process_record *current_process;
extern char record_directory[];
struct object_record *new_object_record(const char *path, uint32_t function_count,
                                        const void *file_status);

#endif
