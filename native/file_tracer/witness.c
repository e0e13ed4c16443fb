#define _GNU_SOURCE
#include "witness.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "processes.h"
#include "record.h"
#include "table.h"

/* Each event is a descriptor of ours, and there may only be a thousand. */
enum { EVENTS_AT_ONCE = 64 };

static int witness = -1;
static struct table opened;

static bool begins_with(const char *path, const char *start) {
    size_t length = strlen(start);
    return !strncmp(path, start, length) && (path[length] == '/' || !path[length]);
}

/* Whether it holds regular files, not the kernel's data or devices. */
static bool holds_files(const char *mount) {
    return !begins_with(mount, "/proc") && !begins_with(mount, "/sys") &&
           !begins_with(mount, "/dev");
}

bool call_witness(void) {
    unsigned how = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE |
                   FAN_UNLIMITED_MARKS;
    /* An opened file is opened again for us: do not wait for a pipe. */
    witness = fanotify_init(how, O_RDONLY | O_NONBLOCK | O_LARGEFILE | O_CLOEXEC);
    FILE *mounts = witness < 0 ? NULL : setmntent("/proc/self/mounts", "re");
    if (!mounts) return false;
    for (struct mntent *mount; (mount = getmntent(mounts));)
        if (holds_files(mount->mnt_dir)) /* a mount hidden by another one cannot be named */
            fanotify_mark(witness, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN | FAN_OPEN_EXEC,
                          AT_FDCWD, mount->mnt_dir);
    endmntent(mounts);
    return true;
}

static void hear(const struct fanotify_event_metadata *event) {
    char path[PATH_BYTES], name[64];
    struct stat status;
    snprintf(name, sizeof name, "fd/%d", event->fd);
    /* A file without a name was the run's own temporary file. */
    if (fstat(event->fd, &status) || !S_ISREG(status.st_mode) || !status.st_nlink) return;
    if (!process_link(getpid(), name, path) || *path != '/') return;
    table_entry(&opened, path)->bits |= event->mask & FAN_OPEN_EXEC ? USE_EXECUTE : USE_READ;
}

static bool hear_some(void) {
    struct fanotify_event_metadata events[EVENTS_AT_ONCE];
    ssize_t left = witness < 0 ? 0 : read(witness, events, sizeof events);
    if (left <= 0) return left < 0 && errno != EAGAIN; /* more events follow one that fails */
    for (struct fanotify_event_metadata *event = events; FAN_EVENT_OK(event, left);
         event = FAN_EVENT_NEXT(event, left)) {
        if (event->fd < 0) continue;
        if (was_traced(event->pid)) hear(event);
        close(event->fd);
    }
    return true;
}

void hear_witness(void) {
    while (hear_some()) continue;
}

void record_witness(void) {
    if (witness < 0) return;
    fanotify_mark(witness, FAN_MARK_FLUSH | FAN_MARK_MOUNT, 0, AT_FDCWD, "/"); /* others continue */
    hear_witness();
    for (size_t i = 0; i < opened.capacity; i++)
        if (opened.slots[i].key) record_witnessed(opened.slots[i].key, opened.slots[i].bits);
    record_witness_count(opened.count);
}
