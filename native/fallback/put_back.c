#define _GNU_SOURCE
#include "put_back.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "give_up.h"
#include "memory.h"
#include "original.h"
#include "place.h"
#include "sidecar.h"

enum { NAME_BYTES = 4096, FARTHEST_NAME = 64, PART_BYTES = 1 << 22 };
static char name[NAME_BYTES], near_name[NAME_BYTES];

/* Without a sidecar: either this library lost nothing, or the sidecars are missing. */
static int without_sidecar(const uint8_t *address, const struct place *place) {
  static char folder[PATH_MAX + sizeof SIDECAR_FOLDER + 1];
  snprintf(folder, sizeof folder, "%s/" SIDECAR_FOLDER, environment_root);
  if (access(folder, F_OK) == 0) return 0;
  if (is_readable(address) && *address != TRAP) return 0;
  give_up("%s at 0x%lx was called, where there is no code any more: most likely it was removed, "
          "as no profiled run used it, and %s, which has what was removed, is not there either; "
          "put that folder back, or profile the workload with what it does now and debloat again",
          place->library, (unsigned long)(address - place->base), folder);
}

/* The library has lost all its code, and its constructors did not run. */
static void refuse_to_start(const uint8_t *address, const struct place *place) {
  give_up("%s at 0x%lx was called, but that library is not started any more: nothing but its "
          "start-up code ran when it was profiled; profile the workload with what it does now and "
          "debloat again, or debloat with start_up_only: keep",
          place->library, (unsigned long)(address - place->base));
}

/* Fill pages of a hole from address `low` on with the original's bytes. */
static void fill(uint8_t *pages, size_t bytes, uint64_t low, const struct sidecar *sidecar,
                 const struct place *place) {
  const struct piece *end = sidecar->pieces + sidecar->header->pieces;
  for (const struct piece *piece = first_piece(sidecar, low);
       piece < end && piece->address < low + bytes; piece++) {
    uint64_t from = piece->address > low ? piece->address : low;
    uint64_t to = (uint64_t)piece->address + piece->size;
    if (to > low + bytes) to = low + bytes;
    read_original(sidecar, place->library, piece->offset + (from - piece->address),
                  pages + (from - low), to - from);
  }
}

static int begins_function(const struct sidecar *sidecar, uint64_t address) {
  const struct removed_function *function = function_at(sidecar, address);
  return function && function->address == address;
}

/* A call or a read restores its page. Where pages hold traps, a call also restores the pages that
 * its functions continue on: an instruction across the end of a page would end with traps, and run.
 * GPU code is read as a whole: it is restored at once, as far as it lies in this hole. If mappings
 * become scarce, a hole is filled, a large one in parts. */
static void choose_pages(const struct sidecar *sidecar, const struct hole *hole, uint64_t address,
                         uint64_t *low, uint64_t *high) {
  *low = address & ~(uint64_t)(PAGE_BYTES - 1);
  *high = *low + PAGE_BYTES;
  if (sidecar->header->flags & HOLDS_TRAPS) {
    while (*low > hole->address && !begins_function(sidecar, *low)) *low -= PAGE_BYTES;
    while (*high < hole->address + bytes_of(hole) && !begins_function(sidecar, *high))
      *high += PAGE_BYTES;
  }
  if (!(hole->size & HOLDS_GPU_CODE)) return;
  const struct piece *piece = first_piece(sidecar, address);
  if (piece == sidecar->pieces + sidecar->header->pieces || piece->address > address) return;
  uint64_t begin = hole->address, end = begin + bytes_of(hole);
  if (piece->address > begin) begin = piece->address & ~(uint64_t)(PAGE_BYTES - 1);
  if ((uint64_t)piece->address + piece->size < end)
    end = ((uint64_t)piece->address + piece->size + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
  *low = begin;
  *high = end;
}

static void choose_more_pages(const struct hole *hole, uint64_t *low, uint64_t *high) {
  uint64_t end = hole->address + (uint64_t)bytes_of(hole);
  *low &= ~(uint64_t)(PART_BYTES - 1);
  *high = (*high + PART_BYTES - 1) & ~(uint64_t)(PART_BYTES - 1);
  if (*low < hole->address) *low = hole->address;
  if (*high > end) *high = end;
}

static void name_function(const struct sidecar *sidecar, uint64_t address, struct miss *miss) {
  const struct removed_function *function = function_at(sidecar, address);
  if (!function) return;
  miss->address = function->address;
  if (function->name) {
    read_name(sidecar, function->name, name, sizeof name);
    return;
  }
  for (int i = 0; i < FARTHEST_NAME && function > sidecar->functions; i++)
    if ((--function)->name) {
      read_name(sidecar, function->name, near_name, sizeof near_name);
      return;
    }
}

static void name_miss(const struct sidecar *sidecar, const struct place *place,
                      const struct hole *hole, uint64_t address, struct miss *miss) {
  *name = *near_name = 0;
  *miss = (struct miss){place->library, name, near_name, (uint32_t)address,
                        !(hole->size & (HOLDS_CODE | HOLDS_GPU_CODE))};
  if (hole->size & HOLDS_CODE) {
    name_function(sidecar, address, miss);
    return;
  }
  const struct removed_kernel *kernel = kernel_at(sidecar, address);
  if (!kernel) return;
  miss->address = kernel->original + ((uint32_t)address - kernel->address);
  snprintf(name, sizeof name, "%s", sidecar->text + kernel->name);
}

static int put_back_in(const struct sidecar *sidecar, const struct place *place, uint8_t *address,
                       int executing, struct miss *miss) {
  uint64_t at = (uint64_t)(address - place->base), low, high;
  const struct hole *hole = hole_at(sidecar, at);
  if (sidecar->header->layout != place->layout) {
    if (is_readable(address) && *address != TRAP) return 0; /* of any library */
    give_up("%s was replaced while this program runs, and what is not in it cannot be put back; "
            "start the program again", place->library);
  }
  if (!hole || (executing && !(hole->size & HOLDS_CODE))) return 0;
  choose_pages(sidecar, hole, at, &low, &high);
  if (!(sidecar->header->flags & HOLDS_TRAPS) && has_many_mappings())
    choose_more_pages(hole, &low, &high);
  uint8_t *place_of_page = place->base + (at & ~(uint64_t)(PAGE_BYTES - 1));
  size_t bytes = (size_t)(high - low), page = (size_t)(at - low) & ~(size_t)(PAGE_BYTES - 1);
  uint8_t *pages = new_pages(bytes);
  struct miss this;
  name_miss(sidecar, place, hole, at, &this);
  tell_of(sidecar, &this);
  fill(pages, bytes, low, sidecar, place);
  if (is_readable(place_of_page) && !memcmp(place_of_page, pages + page, PAGE_BYTES)) {
    /* Another thread was faster; or it is a trap of the program. */
    int trap = executing && *address == TRAP;
    drop_pages(pages, bytes);
    return !trap;
  }
  move_pages(place->base + low, pages, bytes, hole->size & HOLDS_CODE);
  *miss = this;
  return 1;
}

int put_back_at(const struct loaded *loaded, uint8_t *address, int executing, struct miss *miss) {
  struct place place;
  struct sidecar sidecar;
  *miss = (struct miss){0};
  if (!find_place(loaded, &place)) return 0;
  if (!map_sidecar(place.library, &sidecar)) return executing && without_sidecar(address, &place);
  if (sidecar.header->flags & NOT_STARTED && executing) refuse_to_start(address, &place);
  int found = put_back_in(&sidecar, &place, address, executing, miss);
  unmap_sidecar(&sidecar);
  keep_reserve();
  return found;
}
