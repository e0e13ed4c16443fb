/* Included before each source of the enclave: other names in its C library. */
#ifndef TRIMTAB_TRUSTED_H
#define TRIMTAB_TRUSTED_H

#include <string.h>

#define explicit_bzero(memory, bytes) ((void)memset_s(memory, bytes, 0, bytes))

#endif
