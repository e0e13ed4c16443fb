/* Fetch objects of a store by its address. */
#ifndef TRIMTAB_FETCH_H
#define TRIMTAB_FETCH_H

/* Write the data at the address to the file `path`, unless it exists; returns 0 if that fails. */
int fetch(const char *address, const char *path);

/* Run a program and return whether it ended well. */
int run(char *const arguments[], char *const variables[]);

#endif
