/* Which system calls use files, and how: one row each. */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>

enum call_kind {
    NOT_TRACED,
    LOOK_UP,  /* takes paths and uses them as `uses` says */
    OPEN,     /* its flags say how the file is used */
    EXECUTE,
    MAP, /* by descriptor */
    LIST,     /* by descriptor */
    NOTE,     /* makes the record incomplete when it succeeds */
};

/* Indices of arguments counted from 1; 0 is none. No `directory` stands for AT_FDCWD. */
struct path_argument {
    unsigned char directory, path;
};

struct call {
    enum call_kind kind;
    unsigned uses;
    struct path_argument paths[2];
    unsigned char flags;   /* the argument with AT_... or O_... flags */
    unsigned char creates; /* 1 or 2: the path that need not exist before the call */
    bool no_follow;        /* a link in the last component is itself what is used */
    const char *name;      /* of a NOTE: what the process did */
};

extern const struct call calls[];
extern const size_t call_count;

/* The row of system call `number`, or NULL when it is not traced. */
const struct call *call_of(unsigned long long number);

/* From here on, stop at the calls of the table in this thread and in all that it starts. Other
 * calls run at full speed, also mappings without a file. False, with errno set, on failure. */
bool install_filter(void);

/* What a stop at the filter means (SECCOMP_RET_DATA). */
enum { STOP_CALL = 0, STOP_FOREIGN = 1 };

#endif
