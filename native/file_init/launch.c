#define _GNU_SOURCE
#include "launch.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "../file_fallback/place.h"
#include "filter.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* What engines take where an image has none. */
static const char usual_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

__attribute__((noreturn)) static void end(int status) {
  for (;;) KERNEL(__NR_exit_group, status, 0, 0, 0);
}

/* As execvp(3), but that a file that is no program is none: engines do not take it for a script of sh. */
static long execute(const char *name, char **words, char **variables) {
  const char *folders = variable(variables, "PATH"), *at = name;
  char path[PATH_BYTES];
  long why = -ENOENT;
  while (*at && *at != '/') at++;
  if (*at) return KERNEL(__NR_execve, name, words, variables, 0);
  for (at = folders ? folders : usual_path;; at++) {
    const char *begin = at;
    while (*at && *at != ':') at++;
    struct text text = text_in(path, sizeof path);
    put_part(&text, begin, (size_t)(at - begin));
    put(&text, at == begin ? "./" : "/");
    put(&text, name);
    long result = text.whole ? KERNEL(__NR_execve, path, words, variables, 0) : -ENAMETOOLONG;
    if (result == -EACCES) why = result;
    else if (result != -ENOENT && result != -ENOTDIR) return result;
    if (!*at) return why;
  }
}

void become(char **words, const char *called, char **variables) {
  const char *name = words[0];
  if (called) words[0] = (char *)called;
  long why = called ? KERNEL(__NR_execve, name, words, variables, 0) : execute(name, words, variables);
  if (why == -ENOENT) say(name, ": command not found", "", "", "");
  else say(name, why == -EACCES ? ": may not be executed" : ": cannot be executed", "", "", "");
  end(why == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

long launch(char **words, const char *called, char **variables, unsigned long signals, int must_be_served,
            long *listener) {
  int ends[2];
  if (KERNEL(__NR_pipe2, ends, O_CLOEXEC, 0, 0)) return -EMFILE;
  /* It has our descriptors until it executes the command: the listener is ours, too. */
  long child = kernel(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0, 0);
  if (child == 0) {
    KERNEL(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    long found = install_filter();
    KERNEL(__NR_write, ends[1], &found, sizeof found, 0);
    if (found < 0 && must_be_served) end(STATUS_REMOVED);
    KERNEL(__NR_rt_sigprocmask, SIG_SETMASK, &signals, NULL, sizeof signals);
    become(words, called, variables);
  }
  *listener = -ESRCH;
  if (child > 0) {
    /* Ours alone from now on: the child closes what it does not keep by executing the command. */
    KERNEL(__NR_read, ends[0], listener, sizeof *listener, 0);
    KERNEL(__NR_unshare, CLONE_FILES, 0, 0, 0);
  }
  close_file(ends[0]);
  close_file(ends[1]);
  return child;
}
