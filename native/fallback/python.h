/* An exception in the program's Python. */
#ifndef TRIMTAB_PYTHON_H
#define TRIMTAB_PYTHON_H

#include <stddef.h>

/* Fills in a text; 0 when there is nothing to say. */
typedef int message_function(char *text, size_t text_bytes);

/* Let the main thread raise what `message` says at its next bytecode; 0 in a program without
 * Python. */
int raise_in_python(message_function *message);

#endif
