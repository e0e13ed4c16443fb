/* Restore files for which a thread asks, so that the kernel can then make the call; answer calls
 * for files that only the index or the overlay has. */
#ifndef TRIMTAB_SERVE_H
#define TRIMTAB_SERVE_H

/* Take a question from the listener, if there is one, and answer it. */
void serve(long listener);

#endif
