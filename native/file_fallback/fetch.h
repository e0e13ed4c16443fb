/* Fetch objects of a store by its address. */
#ifndef TRIMTAB_FETCH_H
#define TRIMTAB_FETCH_H

/* Write the data at the address to the file `path`, unless it exists; the server is told the
 * `piece` missed. Returns one of `enum fetched` (../store/which.h), or another status if the fetcher
 * did not run. */
int fetch(const char *address, const char *path, const char *piece);

/* Run a program and return its status, -1 if it ended in another way. */
int run(char *const arguments[], char *const variables[]);

#endif
