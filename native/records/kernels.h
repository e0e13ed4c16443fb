/* The record of the GPU code that a process used: one text file a process, one line an event.
 *
 * A line is a kind and its words, separated by single spaces; bytes up to the space, '%' and DEL
 * are written as %XX in a word. src/trimtab/profiling/tracing/kernel_records.py reads the same
 * format:
 *
 *   process PID PARENT WAY EXECUTABLE  first line; WAY is `cupti` or `driver`: how the library came
 *                                      to see the events, which the Makefile says (TRIMTAB_WAY)
 *   cupti PATH                         the CUPTI library that watches
 *   gpu BUS ARCHITECTURE NAME          a GPU that the process sees, e.g. 90 for 9.0
 *   kernel NAME                        a kernel was looked up
 *   global NAME                        a variable, texture or surface was looked up
 *   listed NAME                        a kernel came up in a list of all kernels of a module
 *   module SHA256 BYTES NAME...        a module was loaded, with the symbols it defines
 *   region OFFSET:PATH                 a fat binary region of a file, at OFFSET (hexadecimal), was
 *                                      loaded as a whole, by its address
 *   failed REASON                      not all that was used is recorded, for this reason
 *
 * Every event is one write to the end of the file, so a killed process loses nothing. The file is
 * opened for each event: programs close and reuse descriptors that they do not know. */
#ifndef TRIMTAB_KERNELS_RECORD_H
#define TRIMTAB_KERNELS_RECORD_H

#include <stddef.h>
#include <stdio.h>

#define TRIMTAB_RECORD_VARIABLE "TRIMTAB_KERNELS" /* the folder of the records */

struct event {
  char *text;
  size_t bytes;
  FILE *line;
};

void begin_event(struct event *event, const char *kind);
void add_word(struct event *event, const char *word);
void end_event(struct event *event);

/* An event of one word; events that this process has already recorded are left out. */
void record(const char *kind, const char *word);

#endif
