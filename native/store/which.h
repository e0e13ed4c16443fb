/* Which store a slim environment uses, what trimtab-fetch ends with, and what to say without the
 * piece. In both runtimes and the fetcher; makes only calls that signal handlers may make. */
#ifndef TRIMTAB_WHICH_H
#define TRIMTAB_WHICH_H

#include <stddef.h>

#define REGISTRY_FILE "trimtab/registry" /* in an image: the line that names its cold index */
#define COLD_STORE "unix:/run/trimtab/cold-store.sock"

/* The exit codes of trimtab-fetch. */
enum fetched { FETCHED, NOT_WRITTEN, USAGE, NO_SERVER, NOT_NAMED, REFUSED, FAILED };

/* Whether a store is a server: http://HOST[:PORT][/PATH] or unix:SOCKET. */
int is_server(const char *store);

/* The store instead of the `folder` that was recorded: that, if it is there, else the node's cold
 * store, if the environment is of an image with an index, and the socket is there. */
const char *store_in_use(const char *environment, const char *folder);

/* What follows "was removed, as no profiled run used it": why the store in use did not give the
 * piece, and what to do. `status` is the fetcher's, FETCHED if what it fetched is wrong;
 * `is_recorded` if the store is the image's own. */
const char *no_piece(const char *environment, const char *store, int is_recorded, int status);

#endif
