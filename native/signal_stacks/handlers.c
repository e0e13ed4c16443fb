#define _GNU_SOURCE
#include "handlers.h"

#include <stdint.h>
#include <sys/syscall.h>

#include "../kernel_call/kernel_call.h"

enum { SIGNALS = 65, MOST = 256 };
enum { FREE, WRITTEN, READY };

/* Rows do not change while a signal refers to them. Programs have few different ones. */
static struct row {
  struct kernel_action action;
  uint8_t state;
} rows[MOST];
static uint16_t current[SIGNALS]; /* the row's number, from 1 */

static uint8_t state_of(const struct row *row) {
  return __atomic_load_n(&row->state, __ATOMIC_ACQUIRE);
}

static int is_same(const struct kernel_action *one, const struct kernel_action *other) {
  return one->handler == other->handler && one->flags == other->flags && one->mask == other->mask;
}

static int is_current(unsigned row) {
  for (int number = 1; number < SIGNALS; number++)
    if (__atomic_load_n(&current[number], __ATOMIC_RELAXED) == row + 1) return 1;
  return 0;
}

int remember_handler(int number, const struct kernel_action *action) {
  if (number < 1 || number >= SIGNALS) return 0;
  for (unsigned row = 0; row < MOST; row++)
    if (state_of(&rows[row]) == READY && is_same(&rows[row].action, action)) {
      __atomic_store_n(&current[number], (uint16_t)(row + 1), __ATOMIC_RELEASE);
      return 1;
    }
  for (unsigned row = 0; row < MOST; row++) {
    uint8_t state = state_of(&rows[row]);
    if (state == WRITTEN || (state == READY && is_current(row))) continue;
    if (!__atomic_compare_exchange_n(&rows[row].state, &state, WRITTEN, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
      continue;
    rows[row].action = *action;
    __atomic_store_n(&rows[row].state, READY, __ATOMIC_RELEASE);
    __atomic_store_n(&current[number], (uint16_t)(row + 1), __ATOMIC_RELEASE);
    return 1;
  }
  return 0;
}

struct kernel_action handler_of(int number) {
  struct kernel_action none = {0};
  if (number < 1 || number >= SIGNALS) return none;
  unsigned row = __atomic_load_n(&current[number], __ATOMIC_ACQUIRE);
  return row ? rows[row - 1].action : none;
}

int forward(int number, siginfo_t *info, ucontext_t *context, handler_function **handler) {
  unsigned long all = ~0ul, mask = 0;
  struct kernel_action action = handler_of(number);
  /* Signals in between would begin on the same stack, once the program has left it. */
  kernel(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&mask, sizeof mask, 0, 0);
  return deliver(number, info, context, &action, mask, handler);
}
