/* hostile_enclave KIND: uses an enclave as it should not be used, and says what was not refused.
 *
 * Prints one line for each use that went wrong and ends with 1; ends with 77 where this machine has
 * no enclaves of the kind. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enclave.h"

enum { MEMORY = 1 << 20, NUMBERS = 32, SEALED = 64 + ENCLAVE_TAG_BYTES, BLOCKS = 4, SKIPPED = 77 };
enum { ADD_ONE, REFUSE, WHERE, WAIT, CRASH, OPEN_FILE, FUNCTIONS };

static const char *kind;
static int wrong;
static struct {
    _Atomic int inside, go;
} *shared; /* with processes too */

static int add_one(void *const data[], const size_t bytes[], unsigned count) {
    for (unsigned i = 0; i < count; i++)
        for (size_t at = 0; at < bytes[i]; at++) ((unsigned char *)data[i])[at]++;
    return 0;
}

static int refuse(void *const data[], const size_t bytes[], unsigned count) {
    return add_one(data, bytes, count), 1;
}

static int where(void *const data[], const size_t bytes[], unsigned count) {
    memcpy(data[0], &data[0], bytes[0] < sizeof data[0] ? bytes[0] : sizeof data[0]);
    return count != 1;
}

static int wait_for_go(void *const data[], const size_t bytes[], unsigned count) {
    (void)data, (void)bytes, (void)count;
    shared->inside = 1;
    while (!shared->go) __builtin_ia32_pause();
    return 0;
}

static int crash(void *const data[], const size_t bytes[], unsigned count) {
    (void)data, (void)bytes, (void)count;
    __builtin_trap();
}

static int open_file(void *const data[], const size_t bytes[], unsigned count) {
    (void)data, (void)bytes, (void)count;
    return open("/etc/passwd", O_RDONLY) < 0;
}

static const enclave_function functions[FUNCTIONS] = {
    [ADD_ONE] = add_one,  [REFUSE] = refuse, [WHERE] = where,
    [WAIT] = wait_for_go, [CRASH] = crash,   [OPEN_FILE] = open_file,
};

static void expect(const char *use, int got, int expected) {
    if (got == expected) return;
    printf("%s: %s; expected: %s\n", use, enclave_message(got), enclave_message(expected));
    wrong = 1;
}

static void expect_true(const char *what, int holds) {
    if (holds) return;
    printf("%s: not so\n", what);
    wrong = 1;
}

static struct enclave_options usual(void) {
    return (struct enclave_options){.kind = kind,
                                    .functions = functions,
                                    .function_count = FUNCTIONS,
                                    .memory_bytes = MEMORY,
                                    .threads = 1};
}

static enclave_id created(const struct enclave_options *options) {
    enclave_id enclave = 0;
    int error = enclave_create(options, &enclave);
    if (!error) return enclave;
    puts(enclave_message(error));
    exit(error == ENCLAVE_UNSUPPORTED ? SKIPPED : 1);
}

static int call_one(enclave_id enclave, unsigned function, void *data, size_t bytes) {
    const struct enclave_argument argument = {data, bytes, ENCLAVE_INOUT, 0};
    return enclave_call(enclave, function, &argument, 1);
}

static void use_wrong_options(void) {
    enclave_id enclave;
    struct enclave_options options = usual();
    options.kind = "none";
    expect("unknown kind", enclave_create(&options, &enclave), ENCLAVE_KIND);
    options.kind = "sgx";
    expect("kind without its SDK", enclave_create(&options, &enclave), ENCLAVE_NO_SDK);
    options = usual(), options.threads = 0;
    expect("no threads", enclave_create(&options, &enclave), ENCLAVE_THREADS);
    options.threads = ENCLAVE_MOST_THREADS + 1;
    expect("too many threads", enclave_create(&options, &enclave), ENCLAVE_THREADS);
    options = usual(), options.function_count = ENCLAVE_MOST_FUNCTIONS + 1;
    expect("too many functions", enclave_create(&options, &enclave), ENCLAVE_FUNCTION);
    options = usual(), options.memory_bytes = 0;
    expect("no memory", enclave_create(&options, &enclave), ENCLAVE_SIZE);
    options.memory_bytes = SIZE_MAX;
    expect("all memory", enclave_create(&options, &enclave), ENCLAVE_SIZE);
}

static void use_wrong_sizes(enclave_id enclave) {
    static char data[2 * MEMORY];
    expect("0 bytes", call_one(enclave, ADD_ONE, data, 0), ENCLAVE_SIZE);
    expect("beyond the limit", call_one(enclave, ADD_ONE, data, MEMORY), ENCLAVE_SIZE);
    expect("all bytes", call_one(enclave, ADD_ONE, data, SIZE_MAX), ENCLAVE_SIZE);
    expect("rounded up to 0", call_one(enclave, ADD_ONE, data, SIZE_MAX - 1), ENCLAVE_SIZE);
    struct enclave_argument two[] = {{data, SIZE_MAX / 2 + 1, ENCLAVE_IN, 0},
                                     {data + MEMORY, SIZE_MAX / 2 + 1, ENCLAVE_IN, 0}};
    expect("a sum that wraps", enclave_call(enclave, ADD_ONE, two, 2), ENCLAVE_SIZE);
    two[0].bytes = two[1].bytes = MEMORY * 2 / 3;
    expect("a sum beyond the limit", enclave_call(enclave, ADD_ONE, two, 2), ENCLAVE_SIZE);
    expect("too many", enclave_call(enclave, ADD_ONE, two, ENCLAVE_MOST_ARGUMENTS + 1),
           ENCLAVE_SIZE);
    expect("past all memory", call_one(enclave, ADD_ONE, (void *)(UINTPTR_MAX - 8), 64),
           ENCLAVE_SIZE);
}

static void use_wrong_pointers(enclave_id enclave) {
    char data[NUMBERS] = {0};
    expect("null", call_one(enclave, ADD_ONE, NULL, 8), ENCLAVE_POINTER);
    expect("no arguments", enclave_call(enclave, ADD_ONE, NULL, 1), ENCLAVE_POINTER);
    struct enclave_argument two[] = {{data, 16, ENCLAVE_IN, 0}, {data + 15, 16, ENCLAVE_OUT, 0}};
    expect("overlap by a byte", enclave_call(enclave, ADD_ONE, two, 2), ENCLAVE_OVERLAP);
    two[1].data = data;
    expect("the same twice", enclave_call(enclave, ADD_ONE, two, 2), ENCLAVE_OVERLAP);
    two[1].direction = ENCLAVE_IN;
    expect("only read", enclave_call(enclave, ADD_ONE, two, 2), ENCLAVE_OK);
    two[1].data = data + 16, two[1].direction = ENCLAVE_OUT;
    expect("side by side", enclave_call(enclave, ADD_ONE, two, 2), ENCLAVE_OK);
    two[0].direction = 4;
    expect("no direction", enclave_call(enclave, ADD_ONE, two, 2), ENCLAVE_POINTER);
    expect("unknown function", call_one(enclave, FUNCTIONS, data, 8), ENCLAVE_FUNCTION);
    expect("last number", call_one(enclave, ~0u, data, 8), ENCLAVE_FUNCTION);
}

/* Of a process, what both sides share: the last such mapping. */
static char *shared_memory(void) {
    char line[512];
    uintptr_t begin = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return NULL;
    while (fgets(line, sizeof line, maps)) {
        uintptr_t from = strtoull(line, NULL, 16);
        if (strstr(line, "/dev/zero") && from != (uintptr_t)shared) begin = from;
    }
    fclose(maps);
    return (char *)begin;
}

static char *place_inside(enclave_id enclave) {
    char *place = NULL;
    expect("where", call_one(enclave, WHERE, &place, sizeof place), ENCLAVE_OK);
    return place;
}

static void use_memory_of_the_enclave(enclave_id enclave) {
    char *place = strcmp(kind, "process") ? place_inside(enclave) : shared_memory();
    expect("into the enclave", call_one(enclave, ADD_ONE, place, 8), ENCLAVE_INSIDE);
    expect("reaching into it", call_one(enclave, ADD_ONE, place - 4096, 4097), ENCLAVE_INSIDE);
}

/* Whether another process's memory can be read at `place`, as root too. */
static int readable(pid_t pid, char *place) {
    char path[64], byte;
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int file = open(path, O_RDONLY);
    int got = file >= 0 && pread(file, &byte, 1, (off_t)place) == 1;
    if (file >= 0) close(file);
    return got;
}

static pid_t only_child(void) {
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *children = fopen(path, "r");
    if (children && fscanf(children, "%d", &pid) != 1) pid = 0;
    if (children) fclose(children);
    return pid;
}

static void read_from_outside(enclave_id enclave) {
    char *place = place_inside(enclave);
    if (!strcmp(kind, "process")) {
        pid_t pid = only_child();
        if (pid && strstr(enclave_described(enclave), "memfd_secret"))
            expect_true("secret memory is not read", !readable(pid, place));
    } else if (!strcmp(kind, "pkeys")) {
        pid_t pid = fork();
        if (!pid) _exit(*(volatile char *)place & 1); /* a fault, or an exit */
        int status = 0;
        waitpid(pid, &status, 0);
        expect_true("a domain faults outside of calls", WIFSIGNALED(status));
    }
}

/* What a caller may write where a process looks for its calls: a number of a function, a count and
 * sizes that are none, and then that there is a call. */
static void scribble(enclave_id enclave) {
    char *post = shared_memory(), data[8] = {0};
    if (!post) return;
    enum { STATE = 0, FUNCTION = 12, ERROR = 20, ARGUMENTS = 24, ASKED = 1, ANSWERED = 2 };
    memset(post + FUNCTION, 0xff, ARGUMENTS + ENCLAVE_MOST_ARGUMENTS *
                                                  sizeof(struct enclave_argument) - FUNCTION);
    atomic_store((_Atomic unsigned *)(post + STATE), ASKED);
    while (atomic_load((_Atomic unsigned *)(post + STATE)) != ANSWERED && only_child())
        sched_yield();
    expect("scribbled sizes", *(int *)(post + ERROR), ENCLAVE_SIZE);
    expect("a call after that", call_one(enclave, ADD_ONE, data, sizeof data), ENCLAVE_OK);
}

static enclave_id held;

static void *hold(void *error) {
    char data[8] = {0};
    *(int *)error = call_one(held, WAIT, data, sizeof data);
    return NULL;
}

static void use_too_many_threads(enclave_id enclave) {
    char data[8] = {0};
    int error = ENCLAVE_ERRORS;
    pthread_t thread;
    held = enclave;
    if (pthread_create(&thread, NULL, hold, &error)) exit(1);
    while (!shared->inside) sched_yield();
    expect("one thread more", call_one(enclave, ADD_ONE, data, sizeof data), ENCLAVE_THREADS);
    expect("destroyed in a call", enclave_destroy(enclave), ENCLAVE_BUSY);
    shared->go = 1;
    pthread_join(thread, NULL);
    expect("the thread before", error, ENCLAVE_OK);
    expect("again", call_one(enclave, ADD_ONE, data, sizeof data), ENCLAVE_OK);
}

static void use_after_destruction(enclave_id enclave) {
    char data[8] = {0};
    struct enclave_options options = usual();
    expect("never made", call_one(enclave + 1, ADD_ONE, data, 8), ENCLAVE_GONE);
    expect("number 0", call_one(0, ADD_ONE, data, 8), ENCLAVE_GONE);
    expect("destroyed", enclave_destroy(enclave), ENCLAVE_OK);
    expect("after", call_one(enclave, ADD_ONE, data, 8), ENCLAVE_GONE);
    expect("twice", enclave_destroy(enclave), ENCLAVE_GONE);
    enclave_id other = created(&options);
    expect("in another's place", call_one(enclave, ADD_ONE, data, 8), ENCLAVE_GONE);
    expect("another's end", enclave_destroy(enclave), ENCLAVE_GONE);
    enclave_destroy(other);
}

static void die_in_a_call(unsigned function) {
    char data[8] = {0};
    struct enclave_options options = usual();
    enclave_id enclave = created(&options);
    expect("dies", call_one(enclave, function, data, 8), ENCLAVE_DIED);
    expect("dead", call_one(enclave, ADD_ONE, data, 8), ENCLAVE_DIED);
    expect("buried", enclave_destroy(enclave), ENCLAVE_OK);
}

static int call_sealed(enclave_id enclave, char *data, uint32_t block, size_t bytes) {
    const struct enclave_argument argument = {data, bytes, ENCLAVE_INOUT, block};
    return enclave_call(enclave, ADD_ONE, &argument, 1);
}

static void expect_altered(const char *use, enclave_id enclave, const char *text, uint32_t block) {
    char data[SEALED];
    memcpy(data, text, SEALED);
    expect(use, call_sealed(enclave, data, block, SEALED), ENCLAVE_ALTERED);
    expect_true("nothing comes out then", !memcmp(data, text, SEALED));
}

/* A block whose ciphertext the enclave itself makes: it is written before it is read. */
static void write_sealed(enclave_id enclave, char *data, uint32_t block) {
    const struct enclave_argument argument = {data, SEALED, ENCLAVE_OUT, block};
    expect("written", enclave_call(enclave, ADD_ONE, &argument, 1), ENCLAVE_OK);
}

static void use_altered_ciphertext(void) {
    static const unsigned char key[ENCLAVE_KEY_BYTES] = {1, 2, 3};
    struct enclave_options options = usual();
    options.key = key, options.blocks = BLOCKS;
    enclave_id enclave = 0;
    int error = enclave_create(&options, &enclave);
    if (error == ENCLAVE_NO_CIPHER) return;
    expect("sealed", error, ENCLAVE_OK);
    char first[SEALED], second[SEALED], other[SEALED], altered[SEALED], zeros[SEALED] = {0};
    write_sealed(enclave, first, 0);
    write_sealed(enclave, other, 1);
    for (int at = 0; at < SEALED; at += 7) {
        memcpy(altered, first, SEALED);
        altered[at] ^= 1;
        expect_altered("a bit altered", enclave, altered, 0);
    }
    expect_altered("of another block", enclave, first, 1);
    expect_altered("never sealed", enclave, zeros, 2);
    memcpy(second, first, SEALED);
    expect("the latest", call_sealed(enclave, second, 0, SEALED), ENCLAVE_OK);
    expect_true("no nonce twice", memcmp(first, second, SEALED));
    expect_altered("replayed", enclave, first, 0);
    expect("no such block", call_sealed(enclave, second, BLOCKS, SEALED), ENCLAVE_BLOCK);
    expect("only a tag", call_sealed(enclave, second, 0, ENCLAVE_TAG_BYTES), ENCLAVE_SIZE);
    expect("a part", call_sealed(enclave, second, 0, SEALED - 1), ENCLAVE_ALTERED);
    expect("still the latest", call_sealed(enclave, second, 0, SEALED), ENCLAVE_OK);
    expect("destroyed", enclave_destroy(enclave), ENCLAVE_OK);
}

static void use_as_meant(enclave_id enclave) {
    char data[3] = {1, 2, 3};
    expect("a call", call_one(enclave, ADD_ONE, data, sizeof data), ENCLAVE_OK);
    expect_true("in and out", data[0] == 2 && data[1] == 3 && data[2] == 4);
    expect("refused", call_one(enclave, REFUSE, data, sizeof data), ENCLAVE_FAILED);
    expect_true("nothing comes out of what was refused", data[0] == 2);
    struct enclave_argument argument = {data, sizeof data, ENCLAVE_OUT, 0};
    expect("only out", enclave_call(enclave, ADD_ONE, &argument, 1), ENCLAVE_OK);
    expect_true("nothing is left of a call before", data[0] == 1 && data[2] == 1);
}

int main(int count, char **words) {
    if (count != 2) return 2;
    kind = words[1];
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    struct enclave_options options = usual();
    enclave_id enclave = created(&options);
    use_as_meant(enclave);
    use_wrong_options();
    use_wrong_sizes(enclave);
    use_wrong_pointers(enclave);
    use_memory_of_the_enclave(enclave);
    read_from_outside(enclave);
    if (!strcmp(kind, "process")) scribble(enclave);
    use_too_many_threads(enclave);
    use_after_destruction(enclave);
    if (!strcmp(kind, "process")) die_in_a_call(CRASH), die_in_a_call(OPEN_FILE);
    use_altered_ciphertext();
    return wrong;
}
