/* The function tracer's records: one file a process, one file a loaded object.
 *
 * Every file is a shared mapping, so a killed process loses nothing. A forked child continues to
 * mark in its parent's object files: marks are only ever set.
 * src/trimtab/profiling/tracing/function_records.py reads the same layout. */
#ifndef TRIMTAB_FUNCTIONS_RECORD_H
#define TRIMTAB_FUNCTIONS_RECORD_H

#include <stdint.h>

#define TRIMTAB_PATH_BYTES 3072
#define TRIMTAB_PROCESS_MAGIC "TRIMTABP"
#define TRIMTAB_OBJECT_MAGIC "TRIMTABO"
#define TRIMTAB_LEFT_ALONE "left-alone" /* in the record's folder: paths, each followed by a zero */

enum process_end { PROCESS_RUNNING = 0, PROCESS_EXITED = 1, PROCESS_REPLACED = 2 };

/* Why an object's functions were not traced; the texts are in function_records.py. */
enum object_status {
  OBJECT_WATCHED = 0,
  OBJECT_C_LIBRARY = 1,       /* runs while every signal is blocked: a trap would be fatal */
  OBJECT_NO_UNWIND_TABLE = 2, /* no .eh_frame_hdr, or not in the form of linkers */
  OBJECT_TEXT_RELOCATIONS = 3,
  OBJECT_NOT_READABLE = 4,    /* the file could not be mapped a second time */
  OBJECT_NOT_WRITABLE = 5,    /* the system refuses writable code */
  OBJECT_OWN = 6,             /* part of the tracer */
  OBJECT_LEFT_ALONE = 7,      /* in the record's list TRIMTAB_LEFT_ALONE: it may check itself */
};

struct process_record {
  char magic[8];
  uint32_t pid;
  uint32_t parent_pid;
  uint64_t started_ns; /* CLOCK_MONOTONIC */
  uint32_t end;        /* enum process_end */
  uint32_t by_fork;    /* 1 for a fork of a recorded process, 0 for a started program */
  uint32_t lost;       /* records that did not fit on the disk */
  uint32_t reserved;
  char executable[TRIMTAB_PATH_BYTES];
};

/* Followed by `function_count` start addresses (uint32, relative to the load address, ascending)
 * and as many bytes, 1 if the function was used. */
struct object_record {
  char magic[8];
  uint32_t pid;
  uint32_t status; /* enum object_status */
  uint64_t device;
  uint64_t inode;
  uint64_t size_bytes;
  uint32_t function_count;
  uint32_t changed_functions; /* code in memory differed from the file; counted as used */
  char path[TRIMTAB_PATH_BYTES];
};

#endif
