/* Traps over every byte of every function, and their one-time removal.
 *
 * A whole function is overwritten, not only its first byte: cold parts, landing pads and the cases
 * of a jump table are entered in the middle, and must be noticed too. */
#include "object.h"
#include "system.h"

#include <sys/mman.h>

enum { TRAP = 0xcc, OBJECTS_A_BLOCK = 512 };

/* Blocks are never moved or freed: another thread's trap may be reading them. */
struct block {
  struct watched_object objects[OBJECTS_A_BLOCK];
  volatile uint32_t count;
  struct block *volatile next;
};
static struct block first_block;

struct watched_object *add_object(void) {
  struct block *block = &first_block;
  while (block->count == OBJECTS_A_BLOCK) {
    if (!block->next) {
      void *fresh = memory_map(sizeof *block, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1);
      if (failed(fresh)) return 0;
      block->next = fresh;
    }
    block = block->next;
  }
  struct watched_object *object = &block->objects[block->count];
  __atomic_store_n(&block->count, block->count + 1, __ATOMIC_RELEASE);
  return object;
}

static const uint8_t *original_of(const struct watched_object *object, uint32_t address) {
  return object->original + object->original_bias + address;
}

void arm(struct watched_object *object) {
  for (uint32_t i = 0; i < object->function_count; i++) {
    uint8_t *code = object->base + object->starts[i];
    uint32_t size = object->sizes[i];
    if (__builtin_memcmp(code, original_of(object, object->starts[i]), size)) {
      object->used[i] = 1;
      object->sizes[i] = 0;
      object->record->changed_functions++;
      continue;
    }
    __builtin_memset(code, TRAP, size);
  }
}

static int64_t function_at(const struct watched_object *object, uint32_t address) {
  uint32_t low = 0, high = object->function_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (object->starts[middle] <= address) low = middle + 1;
    else high = middle;
  }
  if (!low || address - object->starts[low - 1] >= object->sizes[low - 1]) return -1;
  return low - 1;
}

/* Whether the function is still in memory as it was armed or restored. */
static int is_in_memory(const struct watched_object *object, int64_t function) {
  const uint8_t *original = original_of(object, object->starts[function]);
  const uint8_t *code = object->base + object->starts[function];
  for (uint32_t i = 0; i < object->sizes[function]; i++)
    if (code[i] != TRAP && code[i] != original[i]) return 0;
  return 1;
}

void forget_closed(const uint8_t *code, const uint8_t *code_end) {
  for (struct block *block = &first_block; block; block = block->next)
    for (uint32_t n = 0; n < block->count; n++) {
      struct watched_object *object = &block->objects[n];
      if (object->state == CLOSED && object->code < code_end && code < object->code_end)
        object->state = NOT_WATCHED;
    }
}

int disarm_at(uint8_t *address) {
  for (struct block *block = &first_block; block; block = block->next) {
    uint32_t count = __atomic_load_n(&block->count, __ATOMIC_ACQUIRE);
    for (uint32_t n = 0; n < count; n++) {
      struct watched_object *object = &block->objects[n];
      uint32_t state = object->state;
      if (!state || address < object->code || address >= object->code_end) continue;
      uint32_t offset = (uint32_t)(address - object->base);
      int64_t found = function_at(object, offset);
      if (found < 0 || (state == CLOSED && !is_in_memory(object, found))) return 0;
      /* Marked before the code can run, so a kill in between loses nothing. */
      object->used[found] = 1;
      const uint8_t *original = original_of(object, object->starts[found]);
      volatile uint8_t *code = object->base + object->starts[found];
      /* From the last byte down: a thread that enters meanwhile, at any byte, meets a trap or an
       * instruction whose later bytes are already restored. */
      for (uint32_t i = object->sizes[found]; i-- > 0;) code[i] = original[i];
      return *original_of(object, offset) != TRAP;
    }
  }
  return 0;
}
