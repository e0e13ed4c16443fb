#include "table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* FNV-1a, 64 bits. */
static size_t hash(const char *key) {
    uint64_t value = 14695981039346656037u;
    for (; *key; key++) value = (value ^ (unsigned char)*key) * 1099511628211u;
    return value;
}

/* The slot of `key`, or the free one where it belongs. */
static struct entry *slot_of(const struct table *table, const char *key) {
    size_t index = hash(key) & (table->capacity - 1);
    while (table->slots[index].key && strcmp(table->slots[index].key, key))
        index = (index + 1) & (table->capacity - 1);
    return &table->slots[index];
}

static void grow(struct table *table) {
    struct table larger = {.capacity = table->capacity ? 2 * table->capacity : 1024,
                           .count = table->count};
    larger.slots = new_zeroed(larger.capacity, sizeof *larger.slots);
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].key) *slot_of(&larger, table->slots[i].key) = table->slots[i];
    free(table->slots);
    *table = larger;
}

struct entry *table_entry(struct table *table, const char *key) {
    if (4 * (table->count + 1) > 3 * table->capacity) grow(table);
    struct entry *entry = slot_of(table, key);
    if (!entry->key) {
        entry->key = copy_text(key);
        table->count++;
    }
    return entry;
}

bool table_has(const struct table *table, const char *key) {
    return table->capacity && slot_of(table, key)->key;
}

void table_clear(struct table *table) {
    for (size_t i = 0; i < table->capacity; i++) {
        free(table->slots[i].key);
        free(table->slots[i].text);
    }
    free(table->slots);
    *table = (struct table){0};
}
