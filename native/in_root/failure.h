#ifndef FAILURE_H
#define FAILURE_H

/* Where `fail` writes to: standard error, until another descriptor is given. */
void fail_to(int descriptor);

/* Which root it is that cannot be entered, for what is written. */
void fail_at(const char *root);

/* End with `status`, and one line that says why, with the text of errno unless that is 0. */
__attribute__((noreturn, format(printf, 2, 3))) void fail(int status, const char *format, ...);

#endif
