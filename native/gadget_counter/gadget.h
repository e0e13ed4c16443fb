// Gadgets: a few instructions up to a return, an indirect jump or call, or a system call.
//
// Gadgets and their quality are defined as in Brown and Pande, "Is less really more? Towards better
// metrics for measuring security improvements realized through software debloating" (CSET 2019):
// the criteria of their Gadget Set Analyzer (Criteria.md), for x86-64.
#pragma once
#include "instruction.h"

enum { MOST_BYTES = 9, MOST_INSTRUCTIONS = MOST_BYTES + 1 };  // before the last; with it

enum gadget_kind { RETURN_ORIENTED, JUMP_ORIENTED, CALL_ORIENTED, OF_SYSTEM_CALL, GADGET_KINDS };

struct gadget {
  struct instruction at[MOST_INSTRUCTIONS];
  int count;
};

// Whether an intruder could use it for the effect of its first instruction.
bool is_usable(const struct gadget *gadget);

enum gadget_kind kind_of(const struct gadget *gadget);

// Twice its score, for the side effects of its other instructions. Lower is better for an intruder.
uint32_t twice_score(const struct gadget *gadget);

// The capabilities of a set of gadgets: a bit for each class with a gadget.
struct classes {
  uint64_t practical, practical_with_aslr, turing_complete;
};

enum { PRACTICAL = 11, PRACTICAL_WITH_ASLR = 35, TURING_COMPLETE = 17 };

// Adds the classes of a usable gadget with this score.
void add_classes(struct classes *classes, const struct gadget *gadget, uint32_t score_twice);
