/* The system calls that use files: one row each. */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>

enum call_kind {
    NOT_TRACED,
    LOOK_UP,  /* takes paths and uses them as in `uses` */
    OPEN,     /* its flags decide the use of the file */
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
    unsigned char creates; /* 1 or 2: the path that may be missing before the call */
    bool no_follow;        /* a link in the last component is used itself */
    const char *name;      /* of a NOTE: what the process did */
};

extern const struct call calls[];
extern const size_t call_count;

/* The row of system call `number`, or NULL if it is not traced. */
const struct call *call_of(unsigned long long number);

/* Whether the use is known before the call: it changes no file. The flags of an open call that may
 * create a file exclude it. */
bool is_foreseeable(const struct call *call);

#endif
