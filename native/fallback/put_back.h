/* The original bytes of removed functions, and their return to memory. */
#ifndef TRIMTAB_PUT_BACK_H
#define TRIMTAB_PUT_BACK_H

#include <stdint.h>

#include "removed_call.h"

/* Put the function at `address` back and fill in `call`; `call->library` is null when another
 * thread has done so meanwhile. Returns 0 when nothing was removed there. Ends the program with a
 * message when its original bytes are not to be had. The lock is held. */
int put_back_at(uint8_t *address, struct removed_call *call);

#endif
