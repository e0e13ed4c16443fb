#ifndef MOUNTS_H
#define MOUNTS_H

#include <stdbool.h>

/* A file or folder with all mounts in it, held to be mounted somewhere else. */
struct held {
    const char *path;
    int tree;
};

/* Hold `path`; its tree is -1, with errno set, if that fails. */
struct held hold(const char *path);

/* Make it read-only at its future place; false, with errno set, if that fails. */
bool protect(const struct held *held);

/* Mount it at its path, as resolved now; missing folders are made. */
void show(const struct held *held);

/* Make the folder `path` and its parents. */
void make_folder(const char *path);

#endif
