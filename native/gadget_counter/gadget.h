// Gadgets: a few instructions up to a return, an indirect jump or call, or a system call.
//
// What counts, and how good one is, is as in Brown and Pande, "Is less really more? Towards better
// metrics for measuring security improvements realized through software debloating" (CSET 2019):
// the criteria that their Gadget Set Analyzer lists (Criteria.md), for x86-64.
#pragma once
#include "instruction.h"

enum { MOST_BYTES = 9, MOST_INSTRUCTIONS = MOST_BYTES + 1 };  // before the last one; with it

enum gadget_kind { RETURN_ORIENTED, JUMP_ORIENTED, CALL_ORIENTED, OF_SYSTEM_CALL, GADGET_KINDS };

struct gadget {
  struct instruction at[MOST_INSTRUCTIONS];
  int count;
};

// Whether somebody could use it for what its first instruction does.
bool is_usable(const struct gadget *gadget);

enum gadget_kind kind_of(const struct gadget *gadget);

// Twice its score: what the rest of it does besides. The less, the better is it for an intruder.
uint32_t twice_score(const struct gadget *gadget);

// What a set of gadgets can do: a bit for each class of which there is a gadget.
struct classes {
  uint64_t practical, practical_with_aslr, turing_complete;
};

enum { PRACTICAL = 11, PRACTICAL_WITH_ASLR = 35, TURING_COMPLETE = 17 };

// Adds the classes that a usable gadget with this score belongs to.
void add_classes(struct classes *classes, const struct gadget *gadget, uint32_t score_twice);
