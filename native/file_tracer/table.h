/* A hash table from text to a set of bits and an optional text. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct entry {
    char *key;
    unsigned bits;
    char *text; /* owned by the table; may be NULL */
};

struct table {
    struct entry *slots;
    size_t capacity, count; /* capacity is 0 or a power of two */
};

/* The entry of `key`, created without bits and text if it is new. Valid until the next call. */
struct entry *table_entry(struct table *table, const char *key);
bool table_has(const struct table *table, const char *key);
void table_clear(struct table *table);

#endif
