#define _GNU_SOURCE
#include "credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_status.h"
#include "failure.h"

/* A number and the character after it; the largest number there means none. */
static bool read_number(const char **text, unsigned *number, char *end) {
    char *rest;
    if (**text < '0' || **text > '9') return false;
    errno = 0;
    unsigned long long value = strtoull(*text, &rest, 10);
    *number = (unsigned)value;
    *end = *rest;
    *text = rest + (*rest != 0);
    return !errno && value < (unsigned)-1;
}

bool read_credentials(const char *text, struct credentials *read) {
    char end;
    if (!read_number(&text, &read->user, &end) || end != ':') return false;
    if (!read_number(&text, &read->group, &end)) return false;
    for (read->other_count = 0; end == ','; read->other_count++)
        if (read->other_count == MOST_GROUPS ||
            !read_number(&text, &read->others[read->other_count], &end))
            return false;
    return end == 0;
}

static void write_text(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) < 0)
        fail(CANNOT_ENTER, "cannot make a user namespace: %s", path);
    close(file);
}

/* Without privileges there may be only one user and one group: our own, under another number. */
static void map_to(uid_t user, gid_t group, uid_t inside_user, gid_t inside_group) {
    char text[64];
    write_text("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1", inside_user, user);
    write_text("/proc/self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1", inside_group, group);
    write_text("/proc/self/gid_map", text);
}

bool leave_namespaces(const struct credentials *wanted) {
    if (!unshare(CLONE_NEWNS)) return false;
    uid_t user = geteuid();
    gid_t group = getegid();
    if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNS))
        fail(CANNOT_ENTER, "cannot make a mount namespace (containers: --cap-add SYS_ADMIN;"
             " elsewhere, user namespaces have to be allowed)");
    map_to(user, group, wanted ? wanted->user : user, wanted ? wanted->group : group);
    return true;
}

void become(const struct credentials *wanted) {
    if (setgroups(wanted->other_count, wanted->others) ||
        setresgid(wanted->group, wanted->group, wanted->group) ||
        setresuid(wanted->user, wanted->user, wanted->user))
        fail(CANNOT_ENTER, "cannot become user %u of group %u", wanted->user, wanted->group);
}
