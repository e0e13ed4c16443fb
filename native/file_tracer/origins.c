#include "origins.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "record.h"

void know_all_origins(struct origins *origins) { origins->ranges[0].end = UINT64_MAX; }

/* An instruction is identified by the address after it, which may be the end of its range. */
static bool is_within(uint64_t begin, uint64_t end, uint64_t instruction) {
    return begin < instruction && instruction <= end;
}

static bool is_known(const struct origins *origins, uint64_t instruction) {
    for (unsigned i = 0; i < KNOWN_RANGES; i++)
        if (is_within(origins->ranges[i].begin, origins->ranges[i].end, instruction)) return true;
    return false;
}

/* The C library and its dynamic linker; before glibc 2.34 libpthread made some calls. */
static bool is_of_glibc(const char *path) {
    static const char *const names[] = {"libc.so.6", "libc-2.", "ld-linux", "ld-2.", "libpthread"};
    const char *slash = strrchr(path, '/');
    for (unsigned i = 0; slash && i < sizeof names / sizeof *names; i++)
        if (!strncmp(slash + 1, names[i], strlen(names[i]))) return true;
    return false;
}

/* Whether a line of proc_pid_maps(5) names an existing file, not named memory. */
static bool is_file(const char *path) {
    static const char deleted[] = " (deleted)";
    size_t length = strlen(path), tail = sizeof deleted - 1;
    return *path == '/' && !(length > tail && !strcmp(path + length - tail, deleted));
}

static void record_origin(pid_t tgid, const char *path) {
    char executable[PATH_BYTES];
    if (is_of_glibc(path)) return;
    if (!is_file(path)) path = process_link(tgid, "exe", executable) ? executable : "/";
    record_own_calls(path);
}

void note_origin(struct origins *origins, pid_t tgid, uint64_t instruction) {
    if (is_known(origins, instruction)) return;
    char name[32], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%d/maps", tgid);
    FILE *maps = fopen(name, "re");
    while (maps && !found && getline(&line, &room, maps) > 0) {
        uint64_t begin, end;
        int path = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &begin, &end, &path) < 2 ||
            !path || !is_within(begin, end, instruction))
            continue;
        found = true;
        line[strcspn(line, "\n")] = 0;
        record_origin(tgid, line + path);
        origins->ranges[origins->next].begin = begin;
        origins->ranges[origins->next].end = end;
        origins->next = (origins->next + 1) % KNOWN_RANGES;
    }
    if (!found) record_origin(tgid, "");
    free(line);
    if (maps) fclose(maps);
}
