/* What a thread asks for is put back where it was, and the kernel then makes the call itself; what only the
 * index, or another place, can tell is answered. */
#ifndef TRIMTAB_SERVE_H
#define TRIMTAB_SERVE_H

/* Take a question from the listener, if there is one, and answer it. */
void serve(long listener);

#endif
