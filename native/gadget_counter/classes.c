// The classes of Homescu et al., "Microgadgets: size does matter in Turing-complete return-oriented
// programming" (WOOT 2012), as in Gadget Set Analyzer (GadgetSet.py); bits in its order.
#include "gadget.h"

enum { MOST_SCORE_TWICE = 8 };

#define BIT(number) (1ull << (number))

static bool is_of(uint8_t family, uint32_t families) {
  return family < 16 && (families >> family & 1);
}

static const uint32_t ANY = 0xFFFF & ~(1u << RSP), ARGUMENTS = 1u << RAX | 1u << RSI | 1u << RDI,
                      LOADED = 1u << RAX | 1u << RDI;

// A register of at least two bytes, or the base of an address.
static uint8_t word(struct operand operand) {
  return operand.kind == REGISTER && operand.narrow ? NO_REGISTER : operand.family;
}

static bool is_one_of(uint8_t operation, uint64_t operations) { return operations >> operation & 1; }

static const uint64_t SUMS = BIT(ADD) | BIT(ADC) | BIT(SUB) | BIT(SBB), LOGIC = BIT(AND) | BIT(OR) | BIT(XOR);

struct view {
  uint8_t operation, first, second;
  bool in_first, in_second;        // in memory
  bool plain_first, plain_second;  // no address, or of a register alone
  bool registers;                  // both operands are registers
  bool differ;
};

static struct view view_of(const struct instruction *it) {
  struct view view = {it->operation, word(it->first), word(it->second), it->first.kind == MEMORY,
                      it->second.kind == MEMORY, true, true, false, false};
  view.plain_first = !view.in_first || it->first.plain;
  view.plain_second = !view.in_second || it->second.plain;
  view.registers = it->first.kind == REGISTER && it->second.kind == REGISTER;
  view.differ = view.first != view.second;
  return view;
}

static bool both(const struct view *v, uint32_t first, uint32_t second) {
  return is_of(v->first, first) && is_of(v->second, second);
}

static bool exchanges(const struct view *v, uint8_t family) {
  return v->operation == EXCHANGE && v->registers && v->differ && v->first != NO_REGISTER &&
         v->second != NO_REGISTER && (v->first == family || v->second == family);
}

static bool pops(const struct view *v, uint32_t families) {
  return v->operation == POP && !v->in_first && is_of(v->first, families);
}

static bool loads(const struct view *v, uint32_t first, uint32_t second) {
  return is_one_of(v->operation, SUMS | LOGIC | BIT(MOVE) | BIT(LOAD_STRING)) && v->in_second &&
         v->plain_second && both(v, first, second) && v->differ;
}

static bool stores(const struct view *v, uint32_t families) {
  return is_one_of(v->operation, BIT(MOVE) | BIT(ADD) | BIT(OR) | BIT(STORE_STRING)) && v->in_first &&
         v->plain_first && both(v, families, families) && v->differ;
}

static bool sets_flags(const struct view *v, uint32_t families) {
  if (v->operation == CLEAR_CARRY || v->operation == LOAD_FLAGS) return true;
  return is_one_of(v->operation, SUMS | LOGIC | BIT(TEST) | BIT(COMPARE)) && both(v, families, families);
}

static bool moves_stack(const struct view *v, uint8_t family) {
  return pops(v, 1u << family) || exchanges(v, family) ||
         (is_one_of(v->operation, SUMS) && !v->in_first && v->first == family &&
          is_of(v->second, 0xFFFF & ~(1u << family)) && v->plain_second);
}

static void add_practical(struct classes *classes, const struct view *v) {
  uint64_t *set = &classes->practical;
  if (v->operation == DECREMENT && !v->in_first && is_of(v->first, LOADED)) *set |= BIT(0);
  if (v->operation == INCREMENT && !v->in_first && is_of(v->first, LOADED)) *set |= BIT(1);
  if (pops(v, LOADED)) *set |= BIT(2);
  if (pops(v, 1u << RSI) ||
      (v->operation == EXCHANGE && v->registers &&
       (both(v, 1u << RSI, LOADED) || both(v, LOADED, 1u << RSI))) ||
      (v->operation == LOAD_ADDRESS && both(v, 1u << RSI, LOADED) && v->plain_second)) {
    *set |= BIT(3);
  }
  if (exchanges(v, RAX) && exchanges(v, RDI)) *set |= BIT(4);
  if (v->operation == PUSH && !v->in_first && is_of(v->first, ARGUMENTS)) *set |= BIT(5);
  if (sets_flags(v, ARGUMENTS) && !v->in_first && !v->in_second) *set |= BIT(6);
  if (stores(v, ARGUMENTS)) *set |= BIT(7);
  if (loads(v, ARGUMENTS, ARGUMENTS)) *set |= BIT(8);
  if (v->operation == LEAVE) *set |= BIT(9);
  if (moves_stack(v, RBP)) *set |= BIT(10);
}

static void add_turing_complete(struct classes *classes, const struct view *v) {
  static const uint8_t partners[] = {RBX, RCX, RDX, RBP, RSI, RDI};
  uint64_t *set = &classes->turing_complete;
  bool plain = v->plain_first && v->plain_second;
  bool computes = both(v, ANY, ANY) && plain && v->differ;
  if (is_one_of(v->operation, BIT(INCREMENT) | BIT(DECREMENT)) && is_of(v->first, ANY) && plain) {
    *set |= BIT(0);
  }
  if (pops(v, ANY)) *set |= BIT(1);
  if (is_one_of(v->operation, SUMS) && computes) *set |= BIT(2);
  if ((v->operation == XOR && computes) ||
      (is_one_of(v->operation, BIT(NEGATE) | BIT(NOT)) && is_of(v->first, ANY) && plain)) {
    *set |= BIT(3);
  }
  if (is_one_of(v->operation, BIT(AND) | BIT(OR)) && computes) *set |= BIT(4);
  if (loads(v, ANY, ANY)) *set |= BIT(5);
  if (stores(v, ANY)) *set |= BIT(6);
  if (sets_flags(v, ANY) && plain && (v->differ || v->first == NO_REGISTER)) *set |= BIT(7);
  if (is_one_of(v->operation, SUMS) && !v->in_second && v->second == RSP && is_of(v->first, ANY) &&
      v->plain_first) {
    *set |= BIT(8);
  }
  if (moves_stack(v, RSP)) *set |= BIT(9);
  if (is_one_of(v->operation, BIT(SAVE_FLAGS) | BIT(PUSH_FLAGS)) ||
      (is_one_of(v->operation, BIT(ADC) | BIT(SBB)) && computes)) {
    *set |= BIT(10);
  }
  for (int i = 0; i < 6; i++) {
    if (exchanges(v, RAX) && exchanges(v, partners[i])) *set |= BIT(11 + i);
  }
}

// For each of six registers: it gets a value, or an operation with RAX; RAX gets its value, or an
// operation.
static void add_transfers(uint64_t *set, const struct view *v) {
  static const uint8_t partners[] = {RBX, RCX, RDX, RBP, RSI, RDI};
  bool calculates = is_one_of(v->operation, SUMS | LOGIC) && v->registers;
  bool moves = v->operation == MOVE && v->registers;
  for (int i = 0; i < 6; i++) {
    uint64_t of_it = 0;
    bool to = v->first == partners[i] && v->second == RAX, from = v->first == RAX && v->second == partners[i];
    if (pops(v, 1u << partners[i])) of_it |= 1;
    if (pops(v, 1u << RAX)) of_it |= 4;
    if (v->operation == EXCHANGE && v->registers && (to || from)) of_it |= 15;
    if (moves && to) of_it |= 3;
    if (moves && from) of_it |= 12;
    if (calculates && to) of_it |= 2;
    if (calculates && from) of_it |= 8;
    *set |= of_it << (11 + 4 * i);
  }
}

static void add_practical_with_aslr(struct classes *classes, const struct view *v) {
  uint64_t *set = &classes->practical_with_aslr;
  uint32_t pushed = ANY & ~(1u << RBP);
  if (v->operation == PUSH && !v->in_first && is_of(v->first, pushed)) *set |= BIT(0);
  if (loads(v, ANY, pushed)) *set |= BIT(1);
  if (stores(v, ANY) && is_one_of(v->operation, BIT(MOVE) | BIT(STORE_STRING))) *set |= BIT(2);
  if (is_one_of(v->operation, BIT(MOVE) | BIT(ADD) | BIT(ADC) | LOGIC) && v->registers &&
      both(v, ANY, 1u << RSP)) {
    *set |= BIT(3);
  }
  if (sets_flags(v, ANY) && !v->in_first && !v->in_second) *set |= BIT(4);
  if (pops(v, ARGUMENTS)) *set |= BIT(5);
  if (pops(v, 1u << RBX | 1u << RCX | 1u << RDX | 1u << RBP)) *set |= BIT(6);
  if (v->operation == LEAVE) *set |= BIT(7);
  if (v->operation == INCREMENT && !v->in_first && is_of(v->first, ANY)) *set |= BIT(8);
  if (v->operation == DECREMENT && !v->in_first && is_of(v->first, ANY)) *set |= BIT(9);
  if (is_one_of(v->operation, SUMS) && v->registers && both(v, ANY, ANY) && v->differ) *set |= BIT(10);
  add_transfers(set, v);
}

static void add_jump(struct classes *classes, const struct gadget *gadget) {
  const struct operand *to = &gadget->at[gadget->count - 1].first;
  bool in_memory = to->kind == MEMORY, plain = !in_memory || to->plain;
  uint32_t pushed = ANY & ~(1u << RBP);
  if (in_memory && plain && is_of(to->family, LOADED)) classes->practical |= BIT(3);
  if (plain && is_of(to->family, LOADED)) classes->practical |= BIT(5);
  if (in_memory && plain && is_of(to->family, ARGUMENTS)) classes->practical |= BIT(7);
  if (!in_memory && is_of(to->family, pushed)) classes->practical_with_aslr |= BIT(0);
  if (in_memory && plain && is_of(to->family, pushed)) classes->practical_with_aslr |= BIT(1);
}

void add_classes(struct classes *classes, const struct gadget *gadget, uint32_t score_twice) {
  enum gadget_kind kind = kind_of(gadget);
  if (kind == JUMP_ORIENTED) add_jump(classes, gadget);
  if (kind != RETURN_ORIENTED || score_twice > MOST_SCORE_TWICE) return;
  struct view view = view_of(&gadget->at[0]);
  add_practical(classes, &view);
  add_turing_complete(classes, &view);
  add_practical_with_aslr(classes, &view);
}
