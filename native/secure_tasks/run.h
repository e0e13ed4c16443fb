/* A run of a task program: its blocks of data, its tasks, and what it prints at the end.
 *
 * Data are blocks of numbers, which a sealed variant keeps as ciphertext outside enclaves; their
 * owner writes them before and reads them after. A program submits a task by `submitted`; an OpenMP
 * task with the same blocks in its `depend` calls `perform`. */
#ifndef TRIMTAB_RUN_H
#define TRIMTAB_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "enclave.h"
#include "kernels.h"
#include "options.h"

/* `count` blocks of `numbers` doubles each. */
struct blocks {
    char *data;
    size_t numbers, bytes, stride;
    uint32_t first, count;
};

struct work {
    enum kernel kernel;
    uint32_t task;
    unsigned count;
    struct enclave_argument arguments[ENCLAVE_MOST_ARGUMENTS];
};

/* Whether the variant has tasks: for the `if` of OpenMP's pragma. */
extern bool run_tasks;

/* Create the enclave before there is much memory that a process would share. `largest_numbers` is
 * the largest sum of numbers in a task's blocks, `blocks` the number of blocks in all: more than
 * ENCLAVE_MOST_BLOCKS are refused. */
void run_prepare(const struct options *options, size_t largest_numbers, uint64_t blocks);

/* End the program for lack of memory. */
_Noreturn void run_no_memory(void);

struct blocks blocks_new(uint32_t count, size_t numbers);
void block_write(struct blocks *blocks, uint32_t block, const double *numbers);
void block_read(const struct blocks *blocks, uint32_t block, double *numbers);

struct enclave_argument block_in(const struct blocks *blocks, uint32_t block);
struct enclave_argument block_out(const struct blocks *blocks, uint32_t block);
struct enclave_argument block_inout(const struct blocks *blocks, uint32_t block);

struct work submitted(enum kernel kernel, unsigned count, const struct enclave_argument *arguments);
void perform(struct work work);
/* After OpenMP's taskwait between tasks. */
void run_barrier(void);

/* Run `submit_all` with the workers and take the time until the last task has ended. */
void run_timed(void (*submit_all)(void));

/* Print the line of the result; returns the program's exit status. */
int run_finish(bool correct);

/* Numbers from 0 to 1, the same in every run. */
double next_random(void);

#endif
