/* An enclave of processes, one for each thread that may be inside; they share secret memory.
 *
 * Calls use shared memory: the caller copies buffers there, the process copies them into its own
 * memory, checks them again, and returns the results in the same way. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "confine.h"
#include "inside.h"
#include "secret_memory.h"

enum { ALIGNMENT = 64, SPINS = 1000, CHECK_NS = 10000000 };
enum post_state { STARTING, ASKED, ANSWERED };

/* The shared memory for one thread's calls; its buffers follow. */
struct post {
    _Alignas(ALIGNMENT) _Atomic uint32_t state;
    _Atomic uint32_t caller_sleeps, process_sleeps;
    unsigned function, count;
    int error;
    struct enclave_argument arguments[ENCLAVE_MOST_ARGUMENTS];
    _Alignas(ALIGNMENT) char buffers[];
};

struct processes {
    unsigned threads;
    char *posts;
    size_t post_bytes, room_bytes;
    pid_t pids[ENCLAVE_MOST_THREADS]; /* 0: has ended */
    _Atomic bool died;
    char description[64];
};

static struct post *post_of(const struct processes *enclave, unsigned thread) {
    return (struct post *)(enclave->posts + thread * enclave->post_bytes);
}

static bool stays(struct post *post, enum post_state state) {
    for (unsigned spin = 0; spin < SPINS; spin++) {
        if (post->state != state) return false;
        __builtin_ia32_pause();
    }
    return true;
}

/* Wait until the state changes, or for CHECK_NS. The kernel checks the word again after `sleeps` is
 * visible to the thread that changes it: no change is missed. */
static void sleep_while(struct post *post, enum post_state state, _Atomic uint32_t *sleeps) {
    const struct timespec longest = {0, CHECK_NS};
    *sleeps = 1;
    syscall(SYS_futex, &post->state, FUTEX_WAIT, state, &longest, NULL, 0);
    *sleeps = 0;
}

static void change(struct post *post, enum post_state state, _Atomic uint32_t *sleeps) {
    post->state = state;
    if (*sleeps) syscall(SYS_futex, &post->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Place the buffers in the shared memory, in sequence, by their sizes. */
static void place_buffers(struct post *post, struct enclave_argument *arguments, unsigned count) {
    char *next = post->buffers;
    for (unsigned i = 0; i < count; i++) {
        arguments[i].data = next;
        next += (arguments[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

/* Trust nothing from the caller: copy it, check it, and then use it. */
static int answer(struct post *post, struct inside *inside, unsigned thread) {
    struct enclave_argument arguments[ENCLAVE_MOST_ARGUMENTS] = {0};
    unsigned function = *(volatile unsigned *)&post->function;
    unsigned count = *(volatile unsigned *)&post->count;
    memcpy(arguments, post->arguments, sizeof arguments);
    __asm__ volatile("" ::: "memory");
    int error =
        arguments_refused(arguments, count, inside->room_bytes, inside->sealed, inside->blocks);
    if (error) return error;
    place_buffers(post, arguments, count);
    return inside_run(inside, thread, function, arguments, count);
}

static _Noreturn void serve(struct post *post, struct inside *inside, unsigned thread,
                            pid_t caller) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != caller) _exit(1);
    post->error = (int)confine();
    if (post->error == CONFINED_NOT) _exit(1);
    change(post, ANSWERED, &post->caller_sleeps);
    for (;;) {
        while (stays(post, ANSWERED) && post->state == ANSWERED)
            sleep_while(post, ANSWERED, &post->process_sleeps);
        post->error = answer(post, inside, thread);
        change(post, ANSWERED, &post->caller_sleeps);
    }
}

static bool ended(struct processes *enclave, unsigned thread) {
    pid_t pid = enclave->pids[thread];
    if (pid && waitpid(pid, NULL, WNOHANG) == 0) return false;
    enclave->pids[thread] = 0;
    enclave->died = true;
    return true;
}

/* Whether the process answered; otherwise it has ended. */
static bool answered(struct processes *enclave, unsigned thread, enum post_state before) {
    struct post *post = post_of(enclave, thread);
    while (stays(post, before) && post->state == before) {
        if (enclave->died || ended(enclave, thread)) return post->state != before;
        sleep_while(post, before, &post->caller_sleeps);
    }
    return true;
}

static int process_call(void *state, unsigned thread, unsigned function,
                        const struct enclave_argument *arguments, unsigned count) {
    struct processes *enclave = state;
    struct post *post = post_of(enclave, thread);
    if (enclave->died) return ENCLAVE_DIED;
    struct enclave_argument here[ENCLAVE_MOST_ARGUMENTS] = {0};
    for (unsigned i = 0; i < count; i++) here[i] = arguments[i];
    place_buffers(post, here, count);
    for (unsigned i = 0; i < count; i++)
        if (arguments[i].direction & ENCLAVE_IN)
            memcpy(here[i].data, arguments[i].data, arguments[i].bytes);
    memcpy(post->arguments, here, sizeof here);
    post->function = function;
    post->count = count;
    change(post, ASKED, &post->process_sleeps);
    if (!answered(enclave, thread, ASKED)) return ENCLAVE_DIED;
    int error = post->error;
    for (unsigned i = 0; i < count && !error; i++)
        if (arguments[i].direction & ENCLAVE_OUT)
            memcpy(arguments[i].data, here[i].data, arguments[i].bytes);
    return error;
}

static void process_destroy(void *state) {
    struct processes *enclave = state;
    for (unsigned thread = 0; thread < enclave->threads; thread++) {
        if (!enclave->pids[thread]) continue;
        kill(enclave->pids[thread], SIGKILL);
        while (waitpid(enclave->pids[thread], NULL, 0) < 0 && errno == EINTR) continue;
    }
    munmap(enclave->posts, enclave->threads * enclave->post_bytes);
    free(enclave);
}

static int start(struct processes *enclave, struct inside *inside) {
    pid_t caller = getpid();
    for (unsigned thread = 0; thread < enclave->threads; thread++) {
        pid_t pid = fork();
        if (pid < 0) return ENCLAVE_SYSTEM;
        if (!pid) serve(post_of(enclave, thread), inside, thread, caller);
        enclave->pids[thread] = pid;
    }
    for (unsigned thread = 0; thread < enclave->threads; thread++)
        if (!answered(enclave, thread, STARTING)) return ENCLAVE_UNSUPPORTED;
    return ENCLAVE_OK;
}

static int create_with(struct processes *enclave, const struct enclave_options *options) {
    bool is_secret = false;
    struct inside *inside = secret_memory_new(options->memory_bytes, &is_secret);
    if (!inside) return ENCLAVE_SYSTEM;
    int error = inside_place(inside, options);
    if (!error) error = start(enclave, inside);
    /* The processes have their own copies; the caller keeps neither the key nor the memory. */
    for (unsigned thread = 0; thread < options->threads; thread++)
        sealer_free(inside->sealers[thread]);
    munmap(inside, options->memory_bytes);
    bool landlocked = post_of(enclave, 0)->error == CONFINED_LANDLOCK;
    strcpy(enclave->description, is_secret ? "memfd_secret, seccomp" : "memfd, seccomp");
    strcat(enclave->description, landlocked ? ", Landlock" : ", no Landlock");
    return error;
}

static int process_create(const struct enclave_options *options, void **state) {
    struct processes *enclave = calloc(1, sizeof *enclave);
    if (!enclave) return ENCLAVE_SYSTEM;
    enclave->threads = options->threads;
    enclave->room_bytes = inside_room_bytes(options);
    enclave->post_bytes = sizeof(struct post) + enclave->room_bytes;
    enclave->posts = mmap(NULL, enclave->threads * enclave->post_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (enclave->posts == MAP_FAILED) {
        free(enclave);
        return ENCLAVE_SYSTEM;
    }
    int error = create_with(enclave, options);
    if (error)
        process_destroy(enclave);
    else
        *state = enclave;
    return error;
}

static bool process_holds(const void *state, const void *begin, size_t bytes) {
    const struct processes *enclave = state;
    uintptr_t from = (uintptr_t)begin, posts = (uintptr_t)enclave->posts;
    return from < posts + enclave->threads * enclave->post_bytes && posts < from + bytes;
}

static const char *process_described(const void *state) {
    return ((const struct processes *)state)->description;
}

const struct backend backend_process = {
    "process", process_create, process_call, process_holds, process_described, process_destroy,
};
