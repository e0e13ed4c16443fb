/* Ask a store's server for an object. */
#ifndef TRIMTAB_REQUEST_H
#define TRIMTAB_REQUEST_H

#include <stddef.h>

struct body {
  const char *begin; /* in a buffer, until the next request */
  size_t bytes;
};

/* Ask for the data at the address; returns one of `enum fetched`. The server is told the image's
 * index, if `registry` is in the folder of `fetcher`, and the piece, a line, unless that is empty. */
int get(const char *fetcher, const char *address, const char *piece, struct body *body);

#endif
