#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

enum { MOST_GROUPS = 1024 };

/* Whom the command runs as: a user, the user's group, and the others. */
struct credentials {
    uid_t user;
    gid_t group;
    gid_t others[MOST_GROUPS];
    size_t other_count;
};

/* Read UID:GID[,GID]...; false for anything else. */
bool read_credentials(const char *text, struct credentials *read);

/* Go to a mount namespace of our own, and where that is refused to a user namespace too, in which
 * we are `wanted`, or as now where that is NULL; true then. */
bool leave_namespaces(const struct credentials *wanted);

/* Become `wanted`, in the user namespace that we are in. */
void become(const struct credentials *wanted);

#endif
