#ifndef MOUNTS_H
#define MOUNTS_H

#include <stdbool.h>

/* A file or folder with all that is mounted in it, held to be shown somewhere else. */
struct held {
    const char *path;
    int tree;
};

/* Hold `path`; its tree is -1, with errno set, where that fails. */
struct held hold(const char *path);

/* Let nobody write to what is held, where it will be shown; false, with errno set, if that fails. */
bool protect(const struct held *held);

/* Show what is held at its path, as it is seen now; folders that lack are made. */
void show(const struct held *held);

/* Make the folder `path` and those above it. */
void make_folder(const char *path);

#endif
