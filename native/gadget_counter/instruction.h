// One x86-64 instruction: its length, and the effects that distinguish gadgets.
//
// It follows the opcode maps of the Intel SDM, volume 2, appendix A. Bytes that a program in user
// mode cannot execute (undefined, privileged, input and output, the LOCK prefix, traps) are no
// instruction here.
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

// `family` is the register, of any width, or the base of an address in memory. `plain`: the address
// has nothing else; `narrow`: a register is used as a single byte.
struct operand {
  uint8_t kind, family;
  bool plain, narrow;
};

// `first` is the changed operand, if any; `value` is the constant, if one operand is one.
struct instruction {
  uint8_t length, operation;
  struct operand first, second;
  int64_t value;
};

// Decodes the instruction at `code`, of which `left` bytes exist. The length is 0 if there is none.
struct instruction decode(const uint8_t *code, uint64_t left);
