/* Objects of a store that is reached by an address. */
#ifndef TRIMTAB_FETCH_H
#define TRIMTAB_FETCH_H

/* Have the file `path` hold what lies at the address, unless it is there; 0 when that fails. */
int fetch(const char *address, const char *path);

/* Run a program and return whether it ended well. */
int run(char *const arguments[], char *const variables[]);

#endif
