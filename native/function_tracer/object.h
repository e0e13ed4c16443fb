/* An object of the program whose functions are watched. */
#ifndef TRIMTAB_OBJECT_H
#define TRIMTAB_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdint.h>

#include "../records/functions.h"

/* A closed one is unmapped, but not where the process ends: then destructors and other threads still
 * run its code, for the first time perhaps. */
enum watch_state { NOT_WATCHED, WATCHED, CLOSED };

struct watched_object {
  uint8_t *base;           /* load address: what ELF addresses are relative to */
  uint8_t *code, *code_end; /* the span of its executable segments in memory */
  const uint8_t *original; /* the file, mapped a second time; `original_bias` makes */
  int64_t original_bias;   /* original + address + bias the byte at an ELF address */
  uint64_t file_bytes;
  uint32_t function_count;
  const uint32_t *starts; /* ELF addresses, rising; in the record */
  uint8_t *used;          /* in the record */
  uint32_t *sizes;
  struct object_record *record;
  volatile uint32_t state; /* enum watch_state */
};

/* One executable segment: where it lies in memory and in the file. */
struct code_segment {
  uint32_t address, size;
  uint64_t file_offset;
};

/* Functions of an object by its .eh_frame_hdr; returns their number, or -1 when there is no table
 * that can be trusted. With `starts` null it only counts the table's rows. Functions outside
 * [code, code_end), empty or beyond the next one's start are cut or left out. */
int64_t read_unwind_table(const uint8_t *base, const ElfW(Phdr) *headers, unsigned header_count,
                          struct code_segment code, uint32_t *starts, uint32_t *sizes);

/* Overwrite every function with traps; those whose bytes differ from the file count as used. */
void arm(struct watched_object *object);

/* Find the function at `address` and put its bytes back. Returns 0 when the trap is the program's
 * own, or the address in no watched object. */
int disarm_at(uint8_t *address);

/* Another object lies at these addresses now: forget closed ones that lay there. */
void forget_closed(const uint8_t *code, const uint8_t *code_end);

/* The watched objects of this process; `add_object` is called with the loader's lock held. */
struct watched_object *add_object(void);

/* Called once a process, at its start and after a fork. */
void start_process_record(int by_fork);
extern struct process_record *current_process;
extern char record_directory[];
struct object_record *new_object_record(const char *path, uint32_t function_count,
                                        const void *file_status);

#endif
