/* Exit statuses of the tracer itself, by the convention of the shell and env(1). */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

enum { TRACER_FAILED = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

#endif
