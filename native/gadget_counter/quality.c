#include "gadget.h"

enum { MOST_RETURN_BYTES = 32 };

static const struct instruction *first(const struct gadget *gadget) { return &gadget->at[0]; }

static const struct instruction *last(const struct gadget *gadget) {
  return &gadget->at[gadget->count - 1];
}

// Whether the instruction changes its first operand.
static bool creates(const struct instruction *it) {
  switch (it->operation) {
    case NOP: case COMPARE: case TEST: case PUSH: return false;
    default: return it->first.kind != NOTHING && it->first.kind != CONSTANT;
  }
}

static bool changes(const struct instruction *it, uint8_t family) {
  return creates(it) && it->first.kind == REGISTER && it->first.family == family;
}

// Whether its result is known: a step, or an operation with a constant.
static bool is_static(const struct instruction *it) {
  switch (it->operation) {
    case INCREMENT: case DECREMENT: case NEGATE: case NOT: return true;
    default: return it->second.kind == CONSTANT;
  }
}

static bool overwrites_first(const struct gadget *gadget) {
  const struct instruction *one = first(gadget);
  if (!creates(one) || one->operation == EXCHANGE || one->first.kind != REGISTER) return false;
  for (int i = 1; i < gadget->count - 1; i++) {
    const struct instruction *it = &gadget->at[i];
    if (it->operation != EXCHANGE && changes(it, one->first.family) && !is_static(it)) return true;
  }
  return false;
}

static bool overwrites_stack_pointer(const struct gadget *gadget) {
  for (int i = 0; i < gadget->count - 1; i++) {
    const struct instruction *it = &gadget->at[i];
    if (changes(it, RSP) && !is_static(it) && it->operation != POP) return true;
  }
  return false;
}

static bool overwrites_target(const struct gadget *gadget) {
  uint8_t target = last(gadget)->first.family;
  for (int i = 0; i < gadget->count - 1; i++) {
    const struct instruction *it = &gadget->at[i];
    if (!changes(it, target)) continue;
    bool by_itself = it->second.kind == REGISTER && it->second.family == target;
    bool of_no_register = it->second.kind == CONSTANT || it->second.family == NO_REGISTER;
    if (it->operation == XOR && by_itself) return true;
    if (it->operation == LOAD_STRING) return true;
    if ((it->operation == MOVE || it->operation == LOAD_ADDRESS) && of_no_register) return true;
  }
  return false;
}

bool is_usable(const struct gadget *gadget) {
  const struct instruction *one = first(gadget), *end = last(gadget);
  if (end->operation == SYSTEM_CALL && gadget->count == 1) return true;
  if (gadget->count == 1 || one->operation == NOP || one->operation == BRANCH_CONDITIONALLY) {
    return false;
  }
  if (creates(one) && one->first.family == NO_REGISTER) return false;
  if (overwrites_first(gadget)) return false;
  if (end->operation == RETURN) {
    if (end->value % 2 || end->value > MOST_RETURN_BYTES) return false;
    return !overwrites_stack_pointer(gadget);
  }
  if (end->operation == SYSTEM_CALL) return true;
  return end->first.family != NO_REGISTER && !overwrites_target(gadget);
}

enum gadget_kind kind_of(const struct gadget *gadget) {
  switch (last(gadget)->operation) {
    case RETURN: return RETURN_ORIENTED;
    case JUMP: return JUMP_ORIENTED;
    case CALL: return CALL_ORIENTED;
    default: return OF_SYSTEM_CALL;
  }
}

static int64_t stack_bytes(const struct gadget *gadget) {
  int64_t bytes = 0;
  for (int i = 0; i < gadget->count; i++) {
    const struct instruction *it = &gadget->at[i];
    bool of_stack = it->first.kind == REGISTER && it->first.family == RSP;
    if (it->operation == PUSH) bytes -= 8;
    else if (it->operation == POP && !of_stack) bytes += 8;
    else if (it->operation == RETURN) bytes += it->value;
    else if (of_stack && it->operation == INCREMENT) bytes += 1;
    else if (of_stack && it->operation == DECREMENT) bytes -= 1;
    else if (of_stack && (it->operation == ADD || it->operation == ADC)) bytes += it->value;
    else if (of_stack && (it->operation == SUB || it->operation == SBB)) bytes -= it->value;
  }
  return bytes;
}

static uint32_t twice_for_stack_pointer(const struct instruction *it) {
  if (!changes(it, RSP)) return 0;
  switch (it->operation) {
    case MOVE: case EXCHANGE: case LOAD_ADDRESS: return 8;
    case SHIFT: return 6;
    case POP: return 2;
    default: return 4;
  }
}

static uint32_t twice_for_condition(const struct instruction *it) {
  switch (it->operation) {
    case BRANCH_CONDITIONALLY: return 6;
    case MOVE_CONDITIONALLY: case COMPARE_EXCHANGE: return 4;
    case SET: return 2;
    default: return 0;
  }
}

static uint32_t twice_for_register(const struct instruction *it, const struct instruction *one) {
  bool is_carried = creates(one) && one->operation != EXCHANGE && one->first.kind == REGISTER &&
                    changes(it, one->first.family);
  if (is_carried) return it->operation == SHIFT ? 3 : 2;
  if (it->operation == EXCHANGE || it->operation == POP || it->first.kind == MEMORY) return 0;
  return it->second.family != NO_REGISTER && it->second.kind != NOTHING ? 2 : 1;
}

uint32_t twice_score(const struct gadget *gadget) {
  const struct instruction *end = last(gadget);
  uint32_t twice = 0;
  bool leaves = false;
  if (end->operation == SYSTEM_CALL) return 0;
  for (int i = 1; i < gadget->count - 1; i++) {
    const struct instruction *it = &gadget->at[i];
    twice += twice_for_condition(it);
    leaves |= it->operation == LEAVE;
    if (!creates(it)) continue;
    twice += twice_for_register(it, first(gadget));
    bool stores = it->first.kind == MEMORY || (it->operation == EXCHANGE && it->second.kind == MEMORY);
    if (stores) twice += 2;
    if (end->operation == RETURN) twice += twice_for_stack_pointer(it);
    else if (changes(it, end->first.family)) twice += it->operation == SHIFT ? 6 : 4;
  }
  if (end->operation == RETURN) twice += (leaves ? 4 : 0) + (stack_bytes(gadget) < 0 ? 4 : 0);
  return twice;
}
