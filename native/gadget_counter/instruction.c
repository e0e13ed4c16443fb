#include "instruction.h"

#include <string.h>

enum { LONGEST = 15 };

// The bytes after an opcode: M an operand in ModRM; b, z, w one and a constant of 1, 4 (2) or 1
// byte if it is a test; n nothing; 1 2 3 constants of so many bytes; 4 of 4 (2); v of 8, 4 or 2; o
// an address; j J a relative branch; p a prefix; r REX; e the next map; V E other encodings; -
// invalid.
static const char ONE_BYTE[256 + 1] =
    "MMMM14--MMMM14-e" "MMMM14--MMMM14--" "MMMM14p-MMMM14p-" "MMMM14p-MMMM14p-"
    "rrrrrrrrrrrrrrrr" "nnnnnnnnnnnnnnnn" "--EMpppp4z1b----" "jjjjjjjjjjjjjjjj"
    "bz-bMMMMMMMMMMMM" "nnnnnnnnnn-nnnnn" "oooonnnn14nnnnnn" "11111111vvvvvvvv"
    "bb2nVVbz3n2n-1--" "MMMM---nMMMMMMMM" "jjjj----JJ-j----" "--pp-nwWnn--nnMM";
static const char TWO_BYTES[256 + 1] =
    "-M---n-------M--" "MMMMMMMMMMMMMMMM" "----" "----MMMMMMMM" "-n--n---T-T-----"
    "MMMMMMMMMMMMMMMM" "MMMMMMMMMMMMMMMM" "MMMMMMMMMMMMMMMM" "bbbbMMMn----MMMM"
    "JJJJJJJJJJJJJJJJ" "MMMMMMMMMMMMMMMM" "nnnMbM--nn-MbMMM" "MMMMMMMMM-bMMMMM"
    "MMbMbbbMnnnnnnnn" "MMMMMMMMMMMMMMMM" "MMMMMMMMMMMMMMMM" "MMMMMMMMMMMMMMM-";

static const uint8_t ARITHMETIC[8] = {ADD, OR, ADC, SBB, AND, SUB, XOR, COMPARE};

struct decoding {
  const uint8_t *code;
  uint64_t left, at;
  uint8_t rex, opcode, modrm;
  bool short_operands, short_addresses, repeated, wrong;
  struct operand in_modrm;  // the one that may be in memory
};

static uint8_t next(struct decoding *d) {
  if (d->at >= d->left || d->at >= LONGEST) {
    d->wrong = true;
    return 0;
  }
  return d->code[d->at++];
}

static int64_t constant(struct decoding *d, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)next(d) << 8 * i;
  int unused = 64 - 8 * bytes;
  return unused >= 64 ? 0 : (int64_t)(value << unused) >> unused;
}

static struct operand of_register(const struct decoding *d, uint8_t number, bool narrow) {
  // Without REX four byte registers are the upper halves of others (AH for SPL).
  if (narrow && !d->rex && number >= 4 && number < 8) number -= 4;
  return (struct operand){REGISTER, number, false, narrow};
}

static struct operand of_kind(uint8_t kind) {
  return (struct operand){kind, NO_REGISTER, false, false};
}

static struct operand at_address_in(uint8_t family) {
  return (struct operand){MEMORY, family, true, false};
}

static uint8_t middle(const struct decoding *d) {
  return (uint8_t)((d->modrm >> 3 & 7) | (d->rex & 4) << 1);
}

// Reads ModRM, and the index and displacement that it announces.
static void read_modrm(struct decoding *d, bool narrow) {
  d->modrm = next(d);
  uint8_t mode = d->modrm >> 6, low = d->modrm & 7, base = low;
  if (mode == 3) {
    d->in_modrm = of_register(d, (uint8_t)(low | (d->rex & 1) << 3), narrow);
    return;
  }
  bool has_index = false, has_base = true;
  if (low == 4) {
    uint8_t sib = next(d);
    base = sib & 7;
    has_index = ((sib >> 3 & 7) | (d->rex & 2) << 2) != 4;
  }
  if (mode == 0 && base == 5) has_base = false;
  int bytes = mode == 1 ? 1 : mode == 2 || !has_base ? 4 : 0;
  int64_t displacement = constant(d, bytes);
  d->in_modrm = at_address_in(has_base ? (uint8_t)(base | (d->rex & 1) << 3) : NO_REGISTER);
  d->in_modrm.plain = has_base && !has_index && displacement == 0;
}

static struct instruction with(const struct decoding *d, uint8_t operation, struct operand first,
                               struct operand second, int64_t value) {
  uint8_t length = d->wrong ? 0 : (uint8_t)d->at;
  return (struct instruction){length, operation, first, second, value};
}

static struct instruction alone(const struct decoding *d, uint8_t operation) {
  return with(d, operation, of_kind(NOTHING), of_kind(NOTHING), 0);
}

// VEX and EVEX: vectors and extensions. No general register counts as changed.
static struct instruction vector(struct decoding *d) {
  uint8_t map = 1, first = d->opcode;
  if (d->rex || d->short_operands || d->repeated) d->wrong = true;
  if (first == 0xC4) {
    map = next(d) & 0x1F;
    next(d);
  } else if (first == 0xC5) {
    next(d);
  } else {
    uint8_t one = next(d), two = next(d);
    map = one & 7;
    if (one & 8 || !(two & 4)) d->wrong = true;
    next(d);
  }
  if (map < 1 || map > 3) d->wrong = true;
  uint8_t opcode = next(d);
  if (!(map == 1 && opcode == 0x77 && first != 0x62)) {
    read_modrm(d, false);
    bool has_constant = map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xC2 ||
                                                  (opcode >= 0xC4 && opcode <= 0xC6)));
    if (has_constant) next(d);
  }
  struct operand source = d->in_modrm.kind == REGISTER ? of_kind(EXTENSION) : d->in_modrm;
  return with(d, OTHER, of_kind(EXTENSION), source, 0);
}

static struct instruction two_bytes(struct decoding *d) {
  uint8_t opcode = d->opcode = next(d);
  char form = TWO_BYTES[opcode];
  int64_t value = 0;
  bool is_set = opcode >> 4 == 9;
  bool is_narrow = is_set || opcode == 0xB0 || opcode == 0xC0 || opcode == 0xB6 || opcode == 0xBE;
  if (form == '-') d->wrong = true;
  if (form == 'T') next(d);
  if (form == 'M' || form == 'b' || form == 'T') read_modrm(d, is_narrow);
  if (form == 'b' || (form == 'T' && opcode == 0x3A)) value = constant(d, 1);
  if (form == 'J') constant(d, 4);
  bool narrow_register = opcode == 0xB0 || opcode == 0xC0;
  struct operand in_middle = of_register(d, middle(d), narrow_register), other = d->in_modrm;
  struct operand number = of_kind(CONSTANT), vector_ = of_kind(EXTENSION);
  switch (opcode) {
    case 0x01:  // XGETBV, XEND, XTEST, RDTSCP; the others are privileged
      if (d->modrm != 0xD0 && d->modrm != 0xD5 && d->modrm != 0xD6 && d->modrm != 0xF9) d->wrong = true;
      return alone(d, OTHER);
    case 0x05: case 0x34: return alone(d, SYSTEM_CALL);
    case 0x0D: case 0x18 ... 0x1F: return alone(d, NOP);
    case 0x40 ... 0x4F: return with(d, MOVE_CONDITIONALLY, in_middle, other, 0);
    case 0x80 ... 0x8F: return alone(d, BRANCH_CONDITIONALLY);
    case 0x90 ... 0x9F: return with(d, SET, other, of_kind(NOTHING), 0);
    case 0xA0: case 0xA8: return with(d, PUSH, vector_, of_kind(NOTHING), 0);
    case 0xA1: case 0xA9: return with(d, POP, vector_, of_kind(NOTHING), 0);
    case 0x31: case 0xA2: case 0x77: return alone(d, OTHER);
    case 0xA3: return with(d, TEST, other, in_middle, 0);
    case 0xAB: case 0xB3: case 0xBB: case 0xA5: case 0xAD: return with(d, OTHER, other, in_middle, 0);
    case 0xA4: case 0xAC: return with(d, OTHER, other, number, value);
    case 0xAE: return alone(d, OTHER);  // fences, and saving the state of extensions
    case 0xAF: case 0xB8: case 0xBC: case 0xBD: return with(d, OTHER, in_middle, other, 0);
    case 0xB0: case 0xB1: return with(d, COMPARE_EXCHANGE, other, in_middle, 0);
    case 0xB6: case 0xB7: case 0xBE: case 0xBF: return with(d, MOVE, in_middle, other, 0);
    case 0xBA:
      if ((d->modrm >> 3 & 7) < 4) d->wrong = true;
      return with(d, (d->modrm >> 3 & 7) == 4 ? TEST : OTHER, other, number, value);
    case 0xC0: case 0xC1: return with(d, EXCHANGE, other, in_middle, 0);  // and adds
    case 0xC3: return with(d, MOVE, other, in_middle, 0);
    case 0xC7: {
      uint8_t which = d->modrm >> 3 & 7;
      if (which != 1 && which < 6) d->wrong = true;
      return with(d, OTHER, other, of_kind(NOTHING), 0);
    }
    case 0xC8 ... 0xCF:
      return with(d, OTHER, of_register(d, (uint8_t)((opcode & 7) | (d->rex & 1) << 3), false),
                  of_kind(NOTHING), 0);
    case 0x2C: case 0x2D: case 0x50: case 0xC5: case 0xD7:  // from vectors to general registers
      return with(d, OTHER, d->short_operands && opcode < 0x50 ? vector_ : in_middle, vector_, 0);
    case 0x11: case 0x13: case 0x17: case 0x29: case 0x2B: case 0x7E: case 0x7F: case 0xD6: case 0xE7:
      if (other.kind == REGISTER && opcode != 0x7E) other = vector_;
      return with(d, MOVE, other, vector_, 0);
    default: {
      if (other.kind == REGISTER) other = vector_;
      return with(d, OTHER, vector_, other, 0);
    }
  }
}

static struct instruction one_byte(struct decoding *d) {
  uint8_t opcode = d->opcode;
  char form = ONE_BYTE[opcode];
  bool in_low = opcode < 0x40 || (opcode >= 0x84 && opcode <= 0x8B) || opcode == 0xC0 ||
                opcode == 0xC1 || opcode == 0xC6 || opcode == 0xC7 || opcode == 0x80 || opcode == 0x81 ||
                (opcode >= 0xA0 && opcode <= 0xAF) || (opcode >= 0xD0 && opcode <= 0xD3) || opcode >= 0xF0;
  bool narrow = (in_low && !(opcode & 1)) || (opcode >= 0xB0 && opcode <= 0xB7);
  int64_t value = 0;
  if (strchr("MbzwW", form)) read_modrm(d, narrow);
  uint8_t which = d->modrm >> 3 & 7;
  int wide = d->short_operands && !(d->rex & 8) ? 2 : 4;
  switch (form) {
    case '-': d->wrong = true; break;
    case 'b': case '1': value = constant(d, 1); break;
    case 'z': case '4': value = constant(d, wide); break;
    case 'w': if (which < 2) value = constant(d, 1); break;
    case 'W': if (which < 2) value = constant(d, wide); break;
    case '2': value = constant(d, 2); break;
    case '3': value = constant(d, 3); break;
    case 'v': value = constant(d, d->rex & 8 ? 8 : wide); break;
    case 'o': constant(d, d->short_addresses ? 4 : 8); break;
    case 'j': constant(d, 1); break;
    case 'J': constant(d, 4); break;
    default: break;
  }
  uint8_t low = (uint8_t)((opcode & 7) | (d->rex & 1) << 3);
  struct operand other = d->in_modrm, in_middle = of_register(d, middle(d), narrow);
  struct operand nothing = of_kind(NOTHING), number = of_kind(CONSTANT);
  struct operand in_opcode = of_register(d, low, narrow), accumulator = of_register(d, RAX, narrow);
  switch (opcode) {
    case 0x00 ... 0x3F: {
      uint8_t operation = ARITHMETIC[opcode >> 3];
      if ((opcode & 7) >= 4) return with(d, operation, accumulator, number, value);
      if (opcode & 2) return with(d, operation, in_middle, other, 0);
      return with(d, operation, other, in_middle, 0);
    }
    case 0x50 ... 0x57: return with(d, PUSH, in_opcode, nothing, 0);
    case 0x58 ... 0x5F: return with(d, POP, in_opcode, nothing, 0);
    case 0x63: return with(d, MOVE, in_middle, other, 0);
    case 0x68: case 0x6A: return with(d, PUSH, number, nothing, value);
    case 0x69: case 0x6B: return with(d, OTHER, in_middle, other, 0);
    case 0x70 ... 0x7F: case 0xE0 ... 0xE3: return alone(d, BRANCH_CONDITIONALLY);
    case 0x80: case 0x81: case 0x83: return with(d, ARITHMETIC[which], other, number, value);
    case 0x84: case 0x85: return with(d, TEST, other, in_middle, 0);
    case 0x86: case 0x87: return with(d, EXCHANGE, other, in_middle, 0);
    case 0x88: case 0x89: return with(d, MOVE, other, in_middle, 0);
    case 0x8A: case 0x8B: return with(d, MOVE, in_middle, other, 0);
    case 0x8C: case 0x8E:
      if (which > 5 || (opcode == 0x8E && which == 1)) d->wrong = true;
      return opcode == 0x8C ? with(d, MOVE, other, of_kind(EXTENSION), 0)
                            : with(d, MOVE, of_kind(EXTENSION), other, 0);
    case 0x8D:
      if (other.kind != MEMORY) d->wrong = true;
      return with(d, LOAD_ADDRESS, in_middle, other, 0);
    case 0x8F:
      if (which) d->wrong = true;
      return with(d, POP, other, nothing, 0);
    case 0x90:
      if (!(d->rex & 1)) return alone(d, NOP);
      return with(d, EXCHANGE, in_opcode, accumulator, 0);
    case 0x91 ... 0x97: return with(d, EXCHANGE, in_opcode, accumulator, 0);
    case 0x9C: return alone(d, PUSH_FLAGS);
    case 0x9E: return alone(d, LOAD_FLAGS);
    case 0x9F: return alone(d, SAVE_FLAGS);
    case 0xA0: case 0xA1: return with(d, MOVE, accumulator, at_address_in(NO_REGISTER), 0);
    case 0xA2: case 0xA3: return with(d, MOVE, at_address_in(NO_REGISTER), accumulator, 0);
    case 0xA4: case 0xA5: return with(d, MOVE, at_address_in(RDI), at_address_in(RSI), 0);
    case 0xA6: case 0xA7: return with(d, COMPARE, at_address_in(RSI), at_address_in(RDI), 0);
    case 0xA8: case 0xA9: return with(d, TEST, accumulator, number, value);
    case 0xAA: case 0xAB: return with(d, STORE_STRING, at_address_in(RDI), accumulator, 0);
    case 0xAC: case 0xAD: return with(d, LOAD_STRING, accumulator, at_address_in(RSI), 0);
    case 0xAE: case 0xAF: return with(d, COMPARE, accumulator, at_address_in(RDI), 0);
    case 0xB0 ... 0xBF: return with(d, MOVE, in_opcode, number, value);
    case 0xC0: case 0xC1: return with(d, SHIFT, other, number, value);
    case 0xC2: case 0xCA: return with(d, RETURN, number, nothing, value & 0xFFFF);
    case 0xC3: case 0xCB: return alone(d, RETURN);
    case 0xC4: case 0xC5: case 0x62: return vector(d);
    case 0xC6: case 0xC7:
      if (which) d->wrong = true;
      return with(d, MOVE, other, number, value);
    case 0xC9: return alone(d, LEAVE);
    case 0xCD:
      if ((value & 0xFF) != 0x80) d->wrong = true;
      return alone(d, SYSTEM_CALL);
    case 0xD0 ... 0xD3: return with(d, SHIFT, other, number, 1);
    case 0xD8 ... 0xDF: return with(d, OTHER, of_kind(EXTENSION), other.kind == MEMORY ? other : nothing, 0);
    case 0xE8: case 0xE9: case 0xEB: return alone(d, BRANCH_DIRECTLY);
    case 0xF6: case 0xF7:
      if (which < 2) return with(d, TEST, other, number, value);
      return with(d, which == 2 ? NOT : which == 3 ? NEGATE : OTHER, other, nothing, 0);
    case 0xF8: return alone(d, CLEAR_CARRY);
    case 0xFE: case 0xFF:
      if (which < 2) return with(d, which ? DECREMENT : INCREMENT, other, nothing, 0);
      if (opcode == 0xFE || which == 3 || which == 5 || which == 7) d->wrong = true;
      return with(d, which == 2 ? CALL : which == 4 ? JUMP : PUSH, other, nothing, 0);
    default: return alone(d, OTHER);
  }
}

struct instruction decode(const uint8_t *code, uint64_t left) {
  struct decoding d = {.code = code, .left = left, .in_modrm = {NOTHING, NO_REGISTER, false, false}};
  uint8_t byte = next(&d);
  while (!d.wrong && ONE_BYTE[byte] == 'p') {
    d.short_operands |= byte == 0x66;
    d.short_addresses |= byte == 0x67;
    d.repeated |= byte == 0xF2 || byte == 0xF3;
    byte = next(&d);
  }
  if (ONE_BYTE[byte] == 'r') {  // only the last one counts, directly before the opcode
    d.rex = byte;
    byte = next(&d);
  }
  d.opcode = byte;
  struct instruction found = {0};
  if (!d.wrong) found = ONE_BYTE[byte] == 'e' ? two_bytes(&d) : one_byte(&d);
  if (d.wrong) found.length = 0;
  return found;
}
