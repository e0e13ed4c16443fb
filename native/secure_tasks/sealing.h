/* AES-256-GCM of one block of data, in place: ciphertext, then a tag of ENCLAVE_TAG_BYTES.
 *
 * The nonce is the block's number and its version, a counter, so none is used twice with a key;
 * both are also additional data. They come from the reader, never with the ciphertext: older,
 * foreign or altered ciphertext does not open. */
#ifndef TRIMTAB_SEALING_H
#define TRIMTAB_SEALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sealer;

/* Null if the programs were built without OpenSSL. Not for two threads at a time. */
struct sealer *sealer_new(const unsigned char *key);
void sealer_free(struct sealer *sealer);

/* `bytes` includes the tag. Both return whether they succeeded. */
bool seal(struct sealer *sealer, uint32_t block, uint64_t version, void *data, size_t bytes);
bool unseal(struct sealer *sealer, uint32_t block, uint64_t version, void *data, size_t bytes);

#endif
