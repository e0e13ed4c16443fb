#ifndef FAILURE_H
#define FAILURE_H

/* The descriptor for `fail`: standard error by default. */
void fail_to(int descriptor);

/* The root that cannot be entered, for messages. */
void fail_at(const char *root);

/* End with `status` and a line with the reason, and the text of errno unless that is 0. */
__attribute__((noreturn, format(printf, 2, 3))) void fail(int status, const char *format, ...);

#endif
