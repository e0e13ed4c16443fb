/* Load libraries and call their functions, each in a process of its own (a fork server), and say
 * what happened. With -DWATCH this is an LD_AUDIT library instead: it notes the pages of code that
 * a library touches, from before its constructors run.
 *
 * A line of standard input names a library; the answer is the texts of its process, then a line
 * `end STATUS` with what waitpid(2) said. The arguments are the functions: NAME or NAME=ARGUMENT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 1 << 16, SECONDS = 5 };

#ifdef WATCH

static struct { uintptr_t start, end; int protection; } watched[16];
static int ranges;
static uintptr_t base;
static int pages = -1;

static void touched(int number, siginfo_t *info, void *context) {
  (void)context;
  uintptr_t page = (uintptr_t)info->si_addr & -(uintptr_t)PAGE;
  for (int i = 0; i < ranges; i++)
    if (info->si_code == SEGV_ACCERR && page >= watched[i].start && page < watched[i].end) {
      uint64_t address = page - base;
      if (!mprotect((void *)page, PAGE, watched[i].protection) &&
          write(pages, &address, sizeof address) == sizeof address) {
        return;
      }
    }
  signal(number, SIG_DFL);
}

unsigned la_version(unsigned version) { return version; }

unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie) {
  (void)id, (void)cookie;
  const char *name = getenv("WATCHED"), *to = getenv("PAGES");
  if (!name || !to || !map->l_name || !strstr(map->l_name, name)) return 0;
  pages = atoi(to);
  base = map->l_addr;
  static char stack[65536];
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&other, NULL);
  struct sigaction action = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  /* As the kernel has it: what is mapped of this file and may run. */
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096 + 128], rights[5];
  while (maps && fgets(line, sizeof line, maps) && ranges < 16) {
    uintptr_t start, end;
    if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 || rights[2] != 'x') continue;
    if (!strstr(line, name)) continue;
    int protection = PROT_EXEC | (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0);
    watched[ranges].start = start, watched[ranges].end = end, watched[ranges].protection = protection;
    ranges++;
  }
  if (maps) fclose(maps);
  for (int i = 0; i < ranges; i++)
    mprotect((void *)watched[i].start, watched[i].end - watched[i].start, PROT_NONE);
  return 0;
}

#else

static void exercise(const char *path, char **functions) {
  alarm(SECONDS);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  setrlimit(RLIMIT_AS, &(struct rlimit){4ul << 30, 4ul << 30});
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("refused %s\n", dlerror());
    fflush(stdout);
    _exit(0);
  }
  printf("loaded\n");
  fflush(stdout);
  for (; *functions; functions++) {
    char name[256];
    snprintf(name, sizeof name, "%s", *functions);
    char *argument = strchr(name, '=');
    if (argument) *argument++ = 0;
    int (*function)(int) = (int (*)(int))dlsym(library, name);
    if (function) printf("%s %d\n", name, function(argument ? atoi(argument) : 3));
    else printf("%s missing\n", name);
    fflush(stdout);
  }
  printf("closed %d\n", dlclose(library));
  fflush(stdout);
  _exit(0);
}

int main(int count, char **arguments) {
  (void)count;
  if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
    personality(ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", arguments);
  }
  char path[4096];
  while (fgets(path, sizeof path, stdin)) {
    path[strcspn(path, "\n")] = 0;
    pid_t child = fork();
    if (!child) {
      close(0);
      exercise(path, arguments + 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("end %d\n", status);
    fflush(stdout);
  }
}

#endif
