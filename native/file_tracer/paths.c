#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "record.h"
#include "table.h"

/* The kernel's limit on links in one look-up (MAXSYMLINKS). */
enum { MAXIMUM_LINKS = 40 };

struct walk {
    pid_t tgid, tid;
    int links;
};

/* Existing paths whose directories contain no links: their target, or no text if they are no
 * link. */
static struct table links;

void forget_links(void) { table_clear(&links); }

bool process_link(pid_t tid, const char *name, char path[PATH_BYTES]) {
    static const char deleted[] = " (deleted)";
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/%s", tid, name);
    ssize_t length = readlink(link, path, PATH_BYTES - 1);
    if (length < 0) {
        if (errno == EACCES || errno == EPERM)
            record_incomplete("process %d does not let its open files be read", tid);
        return false;
    }
    path[length] = 0;
    size_t tail = sizeof deleted - 1;
    bool gone = (size_t)length > tail && !strcmp(path + length - tail, deleted);
    return path[0] == '/' && !gone;
}

bool descriptor_path(pid_t tid, int descriptor, char path[PATH_BYTES]) {
    char name[24] = "cwd";
    if (descriptor != AT_FDCWD) snprintf(name, sizeof name, "fd/%d", descriptor);
    return process_link(tid, name, path);
}

static bool append(char path[PATH_BYTES], const char *component, size_t length) {
    size_t end = strlen(path);
    if (end + 1 + length >= PATH_BYTES) return false;
    path[end] = '/';
    memcpy(path + end + 1, component, length);
    path[end + 1 + length] = 0;
    return true;
}

static void pop(char path[PATH_BYTES]) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
}

/* Write the target of the link at `path` to `target`; false if it is no link. */
static bool link_target(const struct walk *walk, const char *path, char target[PATH_BYTES]) {
    /* These two depend on the reader. */
    if (!strcmp(path, "/proc/self")) return snprintf(target, PATH_BYTES, "%d", walk->tgid);
    if (!strcmp(path, "/proc/thread-self"))
        return snprintf(target, PATH_BYTES, "%d/task/%d", walk->tgid, walk->tid);
    bool in_proc = !strncmp(path, "/proc/", 6);
    if (!in_proc && table_has(&links, path)) {
        const char *known = table_entry(&links, path)->text;
        return known && strcpy(target, known);
    }
    ssize_t length = readlink(path, target, PATH_BYTES - 1);
    if (length < 0) {
        if (errno == EINVAL && !in_proc) table_entry(&links, path);
        return false;
    }
    target[length] = 0;
    if (in_proc) return target[0] == '/' || !strchr(target, ':'); /* not "pipe:[1234]" */
    table_entry(&links, path)->text = copy_text(target);
    return true;
}

/* Continue from `real` along `path`; `lookup` is NULL inside the target of a link. */
static bool follow_path(struct walk *walk, const char *path, bool follow, char *lookup,
                        char real[PATH_BYTES]) {
    if (*path == '/') *real = 0;
    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        const char *component = path;
        size_t length = strcspn(component, "/");
        path += length;
        bool last = !*path; /* `link/` is followed like `link/.` */
        if (length == 1 && component[0] == '.') continue;
        if (length == 2 && !strncmp(component, "..", 2)) {
            pop(real);
            if (lookup) strcpy(lookup, real);
            continue;
        }
        if (!append(real, component, length)) return false;
        if (lookup && !append(lookup, component, length)) return false;
        char target[PATH_BYTES], link[PATH_BYTES];
        if ((last && !follow) || !link_target(walk, real, target)) continue;
        if (++walk->links > MAXIMUM_LINKS) return false;
        strcpy(link, real);
        pop(real);
        if (!follow_path(walk, target, true, NULL, real)) return false;
        record_use(link, USE_LINK, *real ? real : "/", true);
    }
    return true;
}

bool resolve(pid_t tgid, pid_t tid, const char *path, bool follow, char lookup[PATH_BYTES],
             char real[PATH_BYTES]) {
    struct walk walk = {tgid, tid, 0};
    *lookup = *real = 0;
    if (!follow_path(&walk, path, follow, lookup, real)) return false;
    if (!*lookup) strcpy(lookup, "/");
    if (!*real) strcpy(real, "/");
    return true;
}
