/* Calls that wait for an answer before they run (seccomp_unotify(2)): a question costs about a
 * third of a stop with its way through the end of the call. */
#ifndef QUESTIONS_H
#define QUESTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct question {
    uint64_t id;
    pid_t tid;
    int number;
    const uint64_t *arguments; /* six; valid until the next question */
    uint64_t instruction;      /* after the one that makes the call */
};

/* Take questions from the filter's `listener`; ends the tracer if that is not possible. */
void listen_to(int listener);

/* The next question, which has arrived or is about to; false if its thread has continued or
 * ended. */
bool next_question(struct question *question);

/* Let the call run. */
void let_run(const struct question *question);

#endif
