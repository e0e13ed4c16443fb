/* System calls that the recorder makes itself, and whether a program's may be made. */
#ifndef TRIMTAB_RECORDED_CALL_H
#define TRIMTAB_RECORDED_CALL_H

#include <stddef.h>
#include <ucontext.h>

/* kernel(number, ...) at a known place, which the filter lets pass. */
extern long recorded_call(long number, long a, long b, long c, long d, long e, long f);
extern const char recorded_call_begin[], recorded_call_end[];

enum { STANDARD_FILES = 3 };

/* visible.c: whether anything outside of the process's memory would change by a call, or it tells of the
 * streams that a later start has others of. */
int is_visible(long number, const greg_t *registers);
/* Remember what a call made. */
void remember(long number, const greg_t *registers, long result);
/* The next fork is the recorder's own. */
void allow_fork(void);

/* described.c: what the log says of a call besides numbers. */
void describe(long number, const greg_t *registers, long result, char *to, size_t room);
void path_at(long folder, const char *path, char *to, size_t room);

/* filter.c, clocks.c: return 0 if that cannot be. */
int install_filter(void);
int stop_clocks(void);

/* What a call has besides its numbers. */
enum shape {
  VISIBLE, PLAIN, PATH, PATH_AT, OWN_FILE, OPEN, OPEN_AT, FOLDER, QUERY, CONTROL, LIMITS, AFFINITY, MACHINE, WORKING,
  MASK, SET_AFFINITY, BIND, OPEN_AT2, HANDLER, SETTING, BARRIER, PLACES, NEW_FOLDER, CONNECT, STANDARD, NEW_PROCESS,
  LINK, REMOVE, REMOVE_AT
};

enum shape shape_of(long number);

/* visible.c: keep which processors this thread may use, for has_first_processors (record.h). */
void remember_processors(void);

#endif
