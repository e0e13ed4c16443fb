/* A store of originals: ROOT/{2 digits}/{32 digits}-{object}, where the digits begin the SHA-256 of
 * the original; written by src/trimtab/debloating/store.py. An object has 64 chunks: OBJECT_MAGIC,
 * 65 offsets (u32) into the object, and the chunks as LZ4 blocks, or uncompressed if that is not
 * longer. A chunk that is not in this store has no bytes. */
#ifndef TRIMTAB_STORE_H
#define TRIMTAB_STORE_H

#include <stddef.h>
#include <stdint.h>

#define OBJECT_MAGIC "TRIMTABO"
enum { OBJECT_CHUNKS = 64, NAMED_DIGEST_BYTES = 16 };

/* Read chunk `number` of a library, `size` bytes; returns 0 if it is missing or damaged. */
int read_stored_chunk(const char *root, const uint8_t library_sha256[32], uint64_t number,
                      uint8_t *to, size_t size);

/* The cache of fetched objects: TRIMTAB_STORE_CACHE, the environment, or /tmp. */
const char *cache_folder(void);

/* Whether nobody else may write in that folder, which is made if it is missing, now or later. A
 * folder given by the user may be root's, or a link. If others may write in the environment, they
 * can run any code anyway, and its folder is accepted. */
int is_own_cache(const char *cache);

/* Fetch the object with chunk `number` from the server `store`, which is told the `piece` missed.
 * Returns one of `enum fetched` (../store/which.h), or another status if the fetcher did not run. */
int fetch_object(const char *store, const char *cache, const uint8_t library_sha256[32], uint64_t number,
                 const char *piece);

#endif
