/* A store of originals: ROOT/{2 digits}/{32 digits}-{object}, these digits being the first ones of the
 * SHA-256 of the original; written by src/trimtab/debloating/store.py. An object has 64 chunks:
 * OBJECT_MAGIC, 65 offsets (u32) into the object, the chunks as LZ4 blocks, or as they are where that is
 * no longer than their own length. A chunk that is not in this store has no bytes. */
#ifndef TRIMTAB_STORE_H
#define TRIMTAB_STORE_H

#include <stddef.h>
#include <stdint.h>

#define OBJECT_MAGIC "TRIMTABO"
enum { OBJECT_CHUNKS = 64, NAMED_DIGEST_BYTES = 16 };

/* Read chunk `number` of a library, `size` bytes; 0 when it is not there or damaged. */
int read_stored_chunk(const char *root, const uint8_t library_sha256[32], uint64_t number,
                      uint8_t *to, size_t size);

/* Where objects are kept that were fetched: TRIMTAB_STORE_CACHE, the environment, or /tmp. */
const char *cache_folder(void);

/* Whether nobody else may write in that folder, which is made where it is missing, or will be. One that was named may
 * be root's, or a link. Who may write in the environment may have any code run, and its folder is taken. */
int is_own_cache(const char *cache);

/* Fetch the object with chunk `number` from the address `store`; 0 when that fails. */
int fetch_object(const char *store, const char *cache, const uint8_t library_sha256[32],
                 uint64_t number);

#endif
