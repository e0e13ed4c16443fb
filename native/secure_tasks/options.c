#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: trimtab-task-%s %s--size NUMBERS --block NUMBERS [--workers COUNT]\n"
    "  [--variant original|ompss|sgx|sgxo|esgx|esgxo] [--enclave process|pkeys|modelled|sgx]\n"
    "  [--costs CALL_S,BYTE_S,PAGE_S,PAGE_CACHE_BYTES: of a modelled enclave]\n"
    "  [--record FILE: one JSON line for each task] [--marks: lines when tasks begin and end]\n"
    "Enclaves of the kind sgx need Intel's SDK, and are untested on hardware.\n";

static const struct {
    const char *name;
    bool tasks, protected, sealed;
} variants[] = {
    {"original", false, false, false}, {"ompss", true, false, false}, {"sgx", false, true, false},
    {"sgxo", true, true, false},       {"esgx", false, true, true},   {"esgxo", true, true, true},
};

enum { VARIANTS = sizeof variants / sizeof *variants, MOST_NUMBERS = 1 << 28 };

void refuse_option(const struct options *options, const char *what, const char *text) {
    fprintf(stderr, "%s: %s\n", what, text);
    fprintf(stderr, usage, options->application, options->has_network ? "--network FILE " : "");
    exit(WRONG_USE);
}

static size_t number(const struct options *options, const char *what, const char *text,
                     size_t most) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value == 0 || value > most)
        refuse_option(options, what, "not a whole number from 1, or too large");
    return value;
}

static struct enclave_costs costs_of(const struct options *options, const char *text) {
    double values[4];
    int read = 0, count = sscanf(text, "%lf,%lf,%lf,%lf%n", &values[0], &values[1], &values[2],
                                 &values[3], &read);
    if (count != 4 || text[read]) refuse_option(options, "--costs", "not four numbers with commas");
    /* A second per byte, or a terabyte of cache, is a mistake in the unit. */
    for (int i = 0; i < 4; i++)
        if (!(values[i] >= 0 && values[i] <= (i == 3 ? 1e12 : 1)))
            refuse_option(options, "--costs", "negative, or too large");
    return (struct enclave_costs){values[0], values[1], values[2], (size_t)values[3]};
}

static void check(struct options *options) {
    if (options->has_network && !options->network) refuse_option(options, "--network", "missing");
    if (!options->has_network && options->network)
        refuse_option(options, "--network", "this program has none");
    if (!options->size || !options->block) refuse_option(options, "--size, --block", "missing");
    if (options->size % options->block) refuse_option(options, "--size", "not a multiple of --block");
    unsigned found = 0;
    while (found < VARIANTS && strcmp(variants[found].name, options->variant)) found++;
    if (found == VARIANTS) refuse_option(options, "--variant", "there is none of this name");
    options->tasks = variants[found].tasks;
    options->protected = variants[found].protected;
    options->sealed = variants[found].sealed;
    if (!options->tasks && options->workers > 1)
        refuse_option(options, "--workers", "original, sgx and esgx have one");
}

struct options options_of(const char *application, bool has_network, int count,
                          char *const *words) {
    static const struct option names[] = {
        {"size", required_argument, NULL, 's'},    {"block", required_argument, NULL, 'b'},
        {"workers", required_argument, NULL, 'w'}, {"variant", required_argument, NULL, 'v'},
        {"enclave", required_argument, NULL, 'e'}, {"costs", required_argument, NULL, 'c'},
        {"record", required_argument, NULL, 'r'},  {"network", required_argument, NULL, 'n'},
        {"marks", no_argument, NULL, 'm'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.application = application,
                              .has_network = has_network,
                              .variant = "original",
                              .enclave = "process",
                              .workers = 1,
                              .costs = {8e-6, 0, 12e-6, 93 << 20}};
    for (int letter; (letter = getopt_long(count, words, "", names, NULL)) != -1;)
        switch (letter) {
            case 's': options.size = number(&options, "--size", optarg, MOST_NUMBERS); break;
            case 'b': options.block = number(&options, "--block", optarg, MOST_NUMBERS); break;
            case 'w':
                options.workers =
                    (unsigned)number(&options, "--workers", optarg, ENCLAVE_MOST_THREADS);
                break;
            case 'v': options.variant = optarg; break;
            case 'e': options.enclave = optarg; break;
            case 'c': options.costs = costs_of(&options, optarg); break;
            case 'r': options.record = optarg; break;
            case 'n': options.network = optarg; break;
            case 'm': options.marks = true; break;
            default: refuse_option(&options, "command line", "not understood");
        }
    if (optind < count) refuse_option(&options, words[optind], "not understood");
    check(&options);
    return options;
}
