/* Calls that wait for a word before they run (seccomp_unotify(2)): a question costs about a third of
 * a stop and of its way through the end of the call. */
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
    uint64_t instruction;      /* behind the one that makes the call */
};

/* Take questions from the filter's `listener`; ends the tracer where that cannot be. */
void listen_to(int listener);

/* The next question, which is there or about to come; false when its thread has gone on or ended. */
bool next_question(struct question *question);

/* The call may run. */
void let_run(const struct question *question);

#endif
