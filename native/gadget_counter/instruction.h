// One x86-64 instruction: how long it is, and as much of what it does as tells gadgets apart.
//
// After the opcode maps of the Intel SDM, volume 2, appendix A. What a program in user mode cannot
// execute (undefined, privileged, input and output, the LOCK prefix, traps) is no instruction here.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum operation {
  OTHER, NOP, MOVE, MOVE_CONDITIONALLY, LOAD_ADDRESS, EXCHANGE, COMPARE_EXCHANGE, PUSH, POP, LEAVE,
  ADD, OR, ADC, SBB, AND, SUB, XOR, COMPARE, TEST, INCREMENT, DECREMENT, NEGATE, NOT, SHIFT, SET,
  LOAD_STRING, STORE_STRING, CLEAR_CARRY, LOAD_FLAGS, SAVE_FLAGS, PUSH_FLAGS,
  BRANCH_CONDITIONALLY, BRANCH_DIRECTLY,
  RETURN, JUMP, CALL, SYSTEM_CALL,  // what gadgets end in, the middle two through a register or memory
};

enum kind { NOTHING, REGISTER, MEMORY, CONSTANT, EXTENSION };

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, NO_REGISTER = 255 };

// `family` is the register, whatever its width, or the base of an address in memory. `plain` says
// that there is nothing else in the address; `narrow`, that a register is used as a single byte.
struct operand {
  uint8_t kind, family;
  bool plain, narrow;
};

// `first` is what is changed, if anything is; `value` is the constant, if one of both is.
struct instruction {
  uint8_t length, operation;
  struct operand first, second;
  int64_t value;
};

// Decodes the instruction at `code`, of whose bytes there are `left`. Its length is 0 where none is.
struct instruction decode(const uint8_t *code, uint64_t left);
