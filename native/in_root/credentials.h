#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

enum { MOST_GROUPS = 1024 };

/* The user that the command runs as: a user, its group, and other groups. */
struct credentials {
    uid_t user;
    gid_t group;
    gid_t others[MOST_GROUPS];
    size_t other_count;
};

/* Read UID:GID[,GID]...; false for any other text. */
bool read_credentials(const char *text, struct credentials *read);

/* Enter a new mount namespace; if that is refused, also a user namespace, in which we become
 * `wanted`, or keep our numbers if that is NULL; returns true then. */
bool leave_namespaces(const struct credentials *wanted);

/* Become `wanted` in the current user namespace. */
void become(const struct credentials *wanted);

#endif
