#define _GNU_SOURCE
#include "stacks.h"

#include <string.h>
#include <sys/mman.h>

enum { CHUNK_STACKS = 16, CHUNKS = 512, CHUNK_SIZE = CHUNK_STACKS * STACK_BYTES };
static const uint32_t all = (1u << CHUNK_STACKS) - 1;

static uint8_t first_chunk[CHUNK_SIZE] __attribute__((aligned(4096)));
static uint8_t *chunks[CHUNKS] = {first_chunk};
static uint32_t claimed[CHUNKS]; /* a bit for each stack */
static struct thread threads[CHUNKS * CHUNK_STACKS];

/* Another thread may make the same chunk at the same time. */
static uint8_t *chunk_at(int index) {
  uint8_t *chunk = __atomic_load_n(&chunks[index], __ATOMIC_ACQUIRE), *other = NULL;
  if (chunk) return chunk;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK; /* no huge pages */
  chunk = mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (chunk == MAP_FAILED) return NULL;
  if (__atomic_compare_exchange_n(&chunks[index], &other, chunk, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return chunk;
  munmap(chunk, CHUNK_SIZE);
  return other;
}

unsigned claim_stack(void) {
  for (int index = 0; index < CHUNKS; index++) {
    uint32_t taken = __atomic_load_n(&claimed[index], __ATOMIC_RELAXED);
    if (taken == all) continue;
    if (!chunk_at(index)) return 0;
    while (taken != all) {
      uint32_t bit = ~taken & (taken + 1); /* the lowest that is free */
      if (__atomic_compare_exchange_n(&claimed[index], &taken, taken | bit, 0, __ATOMIC_ACQUIRE,
                                      __ATOMIC_RELAXED))
        return 1 + (unsigned)index * CHUNK_STACKS + (unsigned)__builtin_ctz(bit);
    }
  }
  return 0;
}

void release_stack(unsigned number) {
  uint32_t bit = 1u << (number - 1) % CHUNK_STACKS;
  threads[number - 1] = (struct thread){0};
  __atomic_and_fetch(&claimed[(number - 1) / CHUNK_STACKS], ~bit, __ATOMIC_RELEASE);
}

void release_other_stacks(unsigned number) {
  struct thread kept = {0};
  if (number) kept = threads[number - 1];
  for (unsigned other = 1; other <= CHUNKS * CHUNK_STACKS && chunks[(other - 1) / CHUNK_STACKS];
       other++)
    if (claimed[(other - 1) / CHUNK_STACKS] >> (other - 1) % CHUNK_STACKS & 1) release_stack(other);
  if (!number) return;
  claimed[(number - 1) / CHUNK_STACKS] |= 1u << (number - 1) % CHUNK_STACKS;
  threads[number - 1] = kept;
}

unsigned stack_at(uintptr_t address) {
  for (unsigned index = 0; index < CHUNKS; index++) {
    uintptr_t chunk = (uintptr_t)__atomic_load_n(&chunks[index], __ATOMIC_ACQUIRE);
    if (!chunk) return 0;
    if (address - chunk < CHUNK_SIZE)
      return 1 + index * CHUNK_STACKS + (unsigned)((address - chunk) / STACK_BYTES);
  }
  return 0;
}

uint8_t *stack_base(unsigned number) {
  return chunks[(number - 1) / CHUNK_STACKS] + (size_t)((number - 1) % CHUNK_STACKS) * STACK_BYTES;
}

struct thread *thread_on(unsigned number) { return &threads[number - 1]; }
