// trimtab-gadget-counter: counts the gadgets of files whose executable bytes come on standard input.
//
// The input of a file is its segments, a count of bytes (8, little-endian) before each, and a count
// of 0 after the last. The output is a line: the number of gadgets; for each kind (return, jump,
// call, system call) the number of usable, different ones and the sum of twice their scores; then
// the three sets of classes. With --each, a line for each gadget precedes it: offset, length, kind,
// score.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gadget.h"

struct count {
  uint64_t all, usable[GADGET_KINDS], score_twice[GADGET_KINDS];
  struct classes classes;
};

// The gadgets of a file so far, by a hash of their bytes; 0 is a free place.
struct met {
  uint64_t *places, room, used;
};

static void fail(const char *what) {
  fprintf(stderr, "trimtab-gadget-counter: %s\n", what);
  exit(1);
}

static uint64_t *places_for(uint64_t room) {
  uint64_t *places = calloc(room, sizeof *places);
  if (!places) fail("not enough memory");
  return places;
}

static bool put(struct met *met, uint64_t hash) {
  uint64_t place = hash & (met->room - 1);
  while (met->places[place]) {
    if (met->places[place] == hash) return false;
    place = (place + 1) & (met->room - 1);
  }
  met->places[place] = hash;
  return true;
}

static bool is_new(struct met *met, const uint8_t *bytes, uint64_t length) {
  uint64_t hash = 0x9E3779B97F4A7C15 * (length + 1);
  for (uint64_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 0x100000001B3;
  hash ^= hash >> 29;
  hash *= 0xBF58476D1CE4E5B9;
  hash = (hash ^ hash >> 32) | 1;
  if (!put(met, hash)) return false;
  if (++met->used * 2 > met->room) {
    struct met larger = {places_for(met->room * 4), met->room * 4, met->used};
    for (uint64_t i = 0; i < met->room; i++) {
      if (met->places[i]) put(&larger, met->places[i]);
    }
    free(met->places);
    *met = larger;
  }
  return true;
}

static bool ends(const struct instruction *it) { return it->operation >= RETURN; }

// Follows the instructions from `start`; returns the bytes up to the gadget's end, 0 if it is none.
static uint64_t follow(const uint8_t *code, uint64_t left, struct gadget *gadget) {
  uint64_t at = 0;
  for (gadget->count = 0; gadget->count < MOST_INSTRUCTIONS;) {
    struct instruction it = decode(code + at, left - at);
    if (!it.length || it.operation == BRANCH_DIRECTLY || at > MOST_BYTES) return 0;
    gadget->at[gadget->count++] = it;
    at += it.length;
    if (ends(&it)) return at;
  }
  return 0;
}

// For each of the following offsets, the distance to the end of its gadget, computed backwards: 0
// if none begins there.
static void count_segment(const uint8_t *code, uint64_t size, bool each, struct met *met,
                          struct count *count) {
  enum { KEPT = 16, NONE = 255 };
  uint8_t before_end[KEPT];  // bytes before the last instruction, for the following offsets
  memset(before_end, NONE, sizeof before_end);
  for (uint64_t start = size; start-- > 0;) {
    struct instruction it = decode(code + start, size - start);
    uint8_t *mine = &before_end[start % KEPT];
    uint8_t rest = it.length ? before_end[(start + it.length) % KEPT] : NONE;
    if (ends(&it) && it.length) *mine = 0;
    else if (it.length && it.length <= MOST_BYTES && it.operation != BRANCH_DIRECTLY && rest != NONE &&
             rest + it.length <= MOST_BYTES) *mine = (uint8_t)(rest + it.length);
    else *mine = NONE;
    if (*mine == NONE || (*mine == 0 && it.operation != SYSTEM_CALL)) continue;
    struct gadget gadget;
    uint64_t length = follow(code + start, size - start, &gadget);
    if (!length) continue;
    count->all++;
    if (each) {
      bool usable = is_usable(&gadget);
      printf("%llu %llu %d %d\n", (unsigned long long)start, (unsigned long long)length,
             kind_of(&gadget), usable ? (int)twice_score(&gadget) : -1);
    }
    if (!is_new(met, code + start, length) || !is_usable(&gadget)) continue;
    uint32_t score = twice_score(&gadget);
    enum gadget_kind kind = kind_of(&gadget);
    count->usable[kind]++;
    count->score_twice[kind] += score;
    add_classes(&count->classes, &gadget, score);
  }
}

static void say(const struct count *count) {
  printf("%llu", (unsigned long long)count->all);
  for (int i = 0; i < GADGET_KINDS; i++) {
    printf(" %llu %llu", (unsigned long long)count->usable[i], (unsigned long long)count->score_twice[i]);
  }
  printf(" %llu %llu %llu\n", (unsigned long long)count->classes.practical,
         (unsigned long long)count->classes.practical_with_aslr,
         (unsigned long long)count->classes.turing_complete);
  if (fflush(stdout)) fail("cannot write");
}

int main(int argc, char **argv) {
  bool each = argc > 1 && !strcmp(argv[1], "--each");
  enum { FIRST_ROOM = 1 << 12 };
  uint8_t *segment = NULL;
  uint64_t room = 0;
  struct met met = {places_for(FIRST_ROOM), FIRST_ROOM, 0};
  struct count count = {0};
  uint8_t header[8];
  for (size_t got; (got = fread(header, 1, sizeof header, stdin)) > 0;) {
    uint64_t size = 0;
    if (got < sizeof header) fail("cut off");
    for (int i = 0; i < 8; i++) size |= (uint64_t)header[i] << 8 * i;
    if (size == 0) {
      say(&count);
      count = (struct count){0};
      free(met.places);
      met = (struct met){places_for(FIRST_ROOM), FIRST_ROOM, 0};
      continue;
    }
    if (size > room) {
      free(segment);
      segment = malloc(size);
      if (!segment) fail("not enough memory");
      room = size;
    }
    if (fread(segment, 1, size, stdin) != size) fail("cut off");
    count_segment(segment, size, each, &met, &count);
  }
  free(segment);
  free(met.places);
  return 0;
}
