#define _GNU_SOURCE
#include "answer.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "bring_back.h"
#include "calls.h"
#include "init.h"
#include "listing.h"
#include "program.h"
#include "record.h"
#include "source.h"
#include "stand_in.h"

/* The data of a slow answer: it has its own memory and stack, as a thread, a signal handler or a
 * child that is being spawned may have little. */
struct slow {
  struct walk walk;
  struct start start;
  struct entry source; /* that Python asked for before */
  char first[PATH_BYTES], second[PATH_BYTES];
  long arguments[6], result;
  const struct call *call;
  int again;    /* whether to make the call, with `arguments` */
  int is_above; /* whether to answer it with these */
  uint8_t vectors[512] __attribute__((aligned(16))); /* as fxsave stores them */
  uint8_t stack[1 << 16] __attribute__((aligned(16)));
};

/* Python's interpreter and its library have this function. */
extern int Py_IsInitialized(void) __attribute__((weak));

GENERAL int is_asked_by_python(void) { return Py_IsInitialized != NULL; }

static GENERAL long make_call(long number, const long arguments[6]) {
  return kernel(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

static int follows(const struct call *call, const long arguments[6]) {
  if (call->behaviour & NOT_FOLLOWED) return 0;
  return call->flags < 0 || !(arguments[call->flags] & call->unless_followed);
}

static GENERAL long folder_of(struct named named, const long arguments[6]) {
  return named.folder < 0 ? AT_FDCWD : arguments[named.folder];
}

static void name_place(const char *place, struct named named, long arguments[6]) {
  arguments[named.path] = (long)place;
  if (named.folder >= 0) arguments[named.folder] = AT_FDCWD;
}

/* The kernel resolves the rest itself: only a detour needs a new path. */
static void spell(const struct walk *walk, char to[PATH_BYTES], struct named named, long arguments[6]) {
  int in_overlay;
  if (!walk->detour) return;
  const char *below = path_below(walk->here, &in_overlay);
  if (walk->stood_for) path_of_stand_in(to, walk->in_overlay, &walk->entry);
  else if (!walk->in_overlay || !below) memcpy(to, walk->here, strlen(walk->here) + 1);
  else if (!path_of(to, 1, below)) return;
  if (!*to) memcpy(to, "/", 2);
  name_place(to, named, arguments);
}

/* Resolve a path of a call; returns whether it may now lead further, as something was restored by
 * us or by another process. */
static int reach(struct walk *walk, const struct call *call, struct named named, int follow,
                 long arguments[6], char spelled[PATH_BYTES]) {
  const char *path = named.path < 0 ? NULL : (const char *)arguments[named.path];
  if (!path || length_of(path, PATH_BYTES) <= 0 || !may_be_removed(path)) return 0;
  walk->looks = (call->behaviour & LOOKS) != 0;
  int arrived = walk_along(walk, folder_of(named, arguments), path, follow);
  if (walk->came_back && (arrived || !walk->detour)) spell(walk, spelled, named, arguments);
  return walk->came_back || arrived;
}

static unsigned wanted_by(const struct call *call, const long arguments[6]) {
  static const unsigned wanted[] = {R_OK, W_OK, R_OK | W_OK, R_OK};
  switch (call->number) {
    case __NR_open: return wanted[arguments[1] & O_ACCMODE];
    case __NR_openat: return arguments[2] & O_PATH ? 0 : wanted[arguments[2] & O_ACCMODE];
    case __NR_access: return (unsigned)arguments[1] & 7;
    case __NR_faccessat:
    case __NR_faccessat2: return (unsigned)arguments[2] & 7;
    case __NR_truncate: return W_OK;
    default: return call->behaviour & EXECUTES ? X_OK : 0;
  }
}

/* Whether the call is about to remove or move a folder. */
static GENERAL int removes_folder(const struct call *call, const long arguments[6]) {
  struct status status;
  if (call->number == __NR_rmdir) return 1;
  if (call->number == __NR_unlinkat) return (arguments[2] & AT_REMOVEDIR) != 0;
  if (!(call->behaviour & MAKES) || !(call->behaviour & REMOVES)) return 0;
  return !status_of(folder_of(call->first, arguments), (const char *)arguments[call->first.path],
                    AT_SYMLINK_NOFOLLOW, &status) &&
         is_folder(&status);
}

/* The kernel's answer in place, for files in the overlay; 0 for no refusal. */
static long refusal(const struct walk *walk, const struct call *call, const long arguments[6]) {
  int in_overlay;
  unsigned wanted = wanted_by(call, arguments);
  if (!walk->in_overlay) return 0;
  if (call->behaviour & REMOVES) return -(walk->refused ? walk->refused : EACCES);
  const char *below = path_below(walk->here, &in_overlay);
  struct entry entry;
  if (below && entry_at(below, &entry) && entry.kind == REGULAR && !may(&entry, wanted)) return -EACCES;
  return wanted & W_OK && walk->refused == EROFS ? -EROFS : 0;
}

/* Otherwise the removed files of the folder would be lost with it. */
static void before_removal(struct slow *slow) {
  const struct call *call = slow->call;
  const char *path = (const char *)slow->arguments[call->first.path], *below;
  int in_overlay;
  long folder = folder_of(call->first, slow->arguments);
  if (length_of(path, PATH_BYTES) <= 0 || !sees_environment()) return;
  if (!walk_along(&slow->walk, folder, path, 0) || slow->walk.in_overlay) return;
  if (!(below = path_below(slow->walk.here, &in_overlay))) return;
  if (call->behaviour & MAKES) bring_back_below(below);
  else keep_from_removal(below);
}

/* Whether it is Python's look at a source. */
static int tells_source(struct slow *slow) {
  const struct call *call = slow->call;
  return call->behaviour & LOOKS && is_asked_by_python() &&
         names_source((const char *)slow->arguments[call->first.path]) &&
         tell_source(call, slow->arguments, &slow->source, &slow->result);
}

static void answer_after(struct slow *slow) {
  const struct call *call = slow->call;
  if (tells_source(slow)) return;
  int follow = follows(call, slow->arguments);
  int came = reach(&slow->walk, call, call->first, follow, slow->arguments, slow->first);
  long refused = came ? refusal(&slow->walk, call, slow->arguments) : 0;
  if (came && !refused && removes_folder(call, slow->arguments)) before_removal(slow);
  if (refused) slow->result = refused;
  else if (is_told_by_index(&slow->walk))
    slow->result = tell(call, slow->arguments, &slow->walk.entry);
  else slow->again = came | reach(&slow->walk, call, call->second, 0, slow->arguments, slow->second);
}

/* A program's arguments are the call's argument after its path, and its variables the next one. */
static void prepare(struct slow *slow) {
  struct named program = slow->call->first;
  int flags = slow->call->flags < 0 ? 0 : (int)slow->arguments[slow->call->flags];
  const char *path = (const char *)slow->arguments[program.path];
  prepare_start(&slow->start, &slow->walk, folder_of(program, slow->arguments), path, flags,
                (char *const *)slow->arguments[program.path + 1],
                (char *const *)slow->arguments[program.path + 2]);
}

static void answer_before(struct slow *slow) {
  const struct call *call = slow->call;
  struct walk *walk = &slow->walk;
  if (removes_folder(call, slow->arguments)) before_removal(slow);
  struct named made = call->second.path >= 0 ? call->second : call->first;
  int came = reach(walk, call, made, follows(call, slow->arguments), slow->arguments, slow->second);
  long refused = came ? refusal(walk, call, slow->arguments) : 0;
  slow->again = !refused;
  slow->result = refused;
  if (call->behaviour & EXECUTES && !refused) prepare(slow);
}

static void list(struct slow *slow) {
  slow->result = list_folder(&slow->walk, slow->arguments[0], (uint8_t *)slow->arguments[1],
                             (size_t)slow->arguments[2]);
}

/* A path may begin in a folder of the overlay, whose parents are not those of its place. So the
 * folder is named by its own path, which leads to the place or to the overlay. */
static void spell_way_up(struct slow *slow, struct named named, char to[PATH_BYTES]) {
  struct walk *walk = &slow->walk;
  const char *path = named.path < 0 ? NULL : (const char *)slow->arguments[named.path];
  size_t up = path && length_of(path, PATH_BYTES) > 0 ? way_up(path) : 0;
  struct text text = text_in(to, PATH_BYTES);
  put_part(&text, path, up);
  if (!up || !walk_along(walk, folder_of(named, slow->arguments), to, 1) || !walk->detour) return;
  text = text_in(to, PATH_BYTES);
  put(&text, walk->here);
  put(&text, *walk->here || path[up] ? path + up : "/");
  if (text.whole) name_place(to, named, slow->arguments);
}

static void answer_above(struct slow *slow) {
  spell_way_up(slow, slow->call->first, slow->first);
  spell_way_up(slow, slow->call->second, slow->second);
  slow->is_above = 1;
}

static GENERAL void run_on(uint8_t *stack_end, void (*part)(struct slow *), struct slow *slow) {
  __asm__ volatile("mov %%rsp, %%rbx\n\tmov %0, %%rsp\n\tcall *%1\n\tmov %%rbx, %%rsp"
                   : "+r"(stack_end), "+r"(part), "+D"(slow)
                   :
                   : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

static struct slow first_slow;

static GENERAL void drop_slow(struct slow *slow) {
  if (slow != &first_slow) drop_memory(slow, sizeof *slow);
}

/* A call that executes another program does not return, and may share its memory with the parent:
 * the new arguments are on the stack, unless they are large. */
static GENERAL long execute(struct slow *slow, const char *called) {
  enum { MOST_ON_STACK = 16384 };
  int at = slow->call->first.path;
  long number = slow->call->number, arguments[6];
  for (int i = 0; i < 6; i++) arguments[i] = slow->arguments[i];
  const char *path = (const char *)arguments[at];
  char *const *words = (char *const *)arguments[at + 1], *const *variables;
  variables = (char *const *)arguments[at + 2];
  size_t bytes = slow->start.is_known ? start_bytes(&slow->start, path, called) : 0;
  uint8_t *much = bytes > MOST_ON_STACK ? new_memory(bytes) : NULL;
  uint8_t *room = much ? much : __builtin_alloca(bytes > MOST_ON_STACK ? 0 : bytes);
  if (bytes && (much || bytes <= MOST_ON_STACK)) {
    lay_out(&slow->start, room, called, &path, &words, &variables);
    arguments[at] = (long)path;
    arguments[at + 1] = (long)words;
    arguments[at + 2] = (long)variables;
  }
  drop_slow(slow);
  long result = make_call(number, arguments);
  if (much) drop_memory(much, bytes);
  return result;
}

static GENERAL long answer_spelled(long number, const long arguments[6]);

/* The memory of the previous answer, unless another thread has it: fresh memory takes half the time
 * of a short answer. */
static struct slow *spare = &first_slow;

static GENERAL struct slow *take_memory(void) {
  struct slow *slow = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
  if (!slow) return new_memory(sizeof *slow);
  forget_walk(&slow->walk);
  slow->again = slow->is_above = 0;
  return slow;
}

static GENERAL void give_memory_back(struct slow *slow) {
  struct slow *other = __atomic_exchange_n(&spare, slow, __ATOMIC_ACQ_REL);
  if (other) drop_slow(other);
}

/* With all signals blocked: a handler with a miss would wait for the code that it interrupted. The
 * program's own mask holds again during the call, which a signal may have to end. */
static GENERAL long slowly(void (*part)(struct slow *), const struct call *call,
                           const long arguments[6], long result) {
  unsigned long all = ~0ul, before;
  struct slow *slow = take_memory();
  if (!slow) return result;
  for (int i = 0; i < 6; i++) slow->arguments[i] = arguments[i];
  slow->call = call;
  slow->result = result;
  if (call && call->behaviour & EXECUTES) forget_start(&slow->start);
  __asm__ volatile("fxsave64 %0" : "=m"(slow->vectors));
  KERNEL(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  run_on(slow->stack + sizeof slow->stack, part, slow);
  KERNEL(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
  __asm__ volatile("fxrstor64 %0" : : "m"(slow->vectors));
  if (slow->again && call && call->behaviour & EXECUTES)
    return execute(slow, (const char *)(call->number == __NR_execve ? arguments : slow->arguments)[call->first.path]);
  long changed[6];
  for (int i = 0; i < 6; i++) changed[i] = slow->arguments[i];
  int again = slow->again, is_above = slow->is_above;
  int is_spelled = slow->walk.detour | is_above, stood_for = slow->walk.stood_for;
  result = slow->result;
  if (!is_spelled) give_memory_back(slow);
  if (again && call) result = make_call(call->number, changed);
  if (is_above) result = answer_spelled(call->number, changed);
  if (is_spelled) give_memory_back(slow);
  /* Its stand-in became the file meanwhile. */
  if (call && stood_for && result == -ENOENT) return answer(call->number, arguments);
  return result;
}

static GENERAL int is_suspect(struct named named, const long arguments[6]) {
  const char *path = named.path < 0 ? NULL : (const char *)arguments[named.path];
  return path && may_be_removed(path) && !has_nothing_removed(folder_of(named, arguments), path);
}

/* A search along PATH asks for many missing programs. The kernel reports paths that are unreadable
 * or too long. An empty path may mean the open file itself. */
static GENERAL int is_no_program(struct named named, const long arguments[6]) {
  const char *path = (const char *)arguments[named.path];
  long folder = folder_of(named, arguments), result = KERNEL(__NR_faccessat, folder, path, F_OK, 0);
  if (result == -EFAULT || result == -ENAMETOOLONG) return 1;
  return result == -ENOENT && *path && has_nothing_removed(folder, path);
}

/* Whether something has to be restored before the call. */
static GENERAL int asks_before(const struct call *call, const long arguments[6]) {
  struct named made = call->second.path >= 0 ? call->second : call->first;
  int makes = call->behaviour & (MAKES | EXECUTES);
  if (call->number == __NR_open) makes = arguments[1] & O_CREAT;
  if (call->number == __NR_openat) makes = arguments[2] & O_CREAT;
  if (removes_folder(call, arguments)) return 1;
  if (call->behaviour & EXECUTES && looks_after_children()) return !is_no_program(call->first, arguments);
  return makes && length_of((const char *)arguments[made.path], PATH_BYTES) > 0 &&
         is_suspect(made, arguments);
}

/* Under strict, a process ends like its child that missed something: otherwise a pool would restart
 * its workers for ever. */
static GENERAL long wait_for_child(const long arguments[6]) {
  int status = 0;
  long changed[6] = {arguments[0], arguments[1], arguments[2], arguments[3], 0, 0};
  if (!changed[1]) changed[1] = (long)&status;
  long child = make_call(__NR_wait4, changed);
  if (child > 0 && *(int *)changed[1] == STATUS_REMOVED << 8) end_with_child(child);
  return child;
}

static GENERAL int leads_up(struct named named, const long arguments[6]) {
  const char *path = named.path < 0 ? NULL : (const char *)arguments[named.path];
  return path && length_of(path, PATH_BYTES) > 0 && way_up(path);
}

/* Whether a path of the call may lead out of a folder in the overlay. We look for programs ourselves
 * anyway. */
static GENERAL int may_lead_out(const struct call *call, const long arguments[6]) {
  return has_overlay() && !(call->behaviour & EXECUTES) &&
         (leads_up(call->first, arguments) || leads_up(call->second, arguments));
}

/* Whether a removed file at its path changes what a call does if nothing is there. */
static GENERAL int may_go_first(const struct call *call, const long arguments[6]) {
  switch (call->number) {
    case __NR_open: return !(arguments[1] & O_CREAT);
    case __NR_openat: return !(arguments[2] & O_CREAT);
    case __NR_openat2: return 0; /* its flags are in memory */
    default: return !(call->behaviour & (MAKES | EXECUTES | REMOVES));
  }
}

static int has_init;

void leave_to_init(void) { has_init = 1; }

static void tell_or_ask(struct slow *slow) { slow->again = !tells_source(slow); }

/* A question to the init takes longer than most calls. So it is not asked for what is there, what
 * never was, and what the index tells. */
static GENERAL long answer_below_init(long number, const long arguments[6]) {
  const struct call *call = call_of(number);
  if (number != __NR_getdents64 && (!call || !may_go_first(call, arguments))) return make_call(number, arguments);
  long result = kernel(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], NOT_ASKED);
  if (!call || result != -ENOENT || !may_be_removed((const char *)arguments[call->first.path])) return result;
  if (call->behaviour & LOOKS && is_asked_by_python()) return slowly(tell_or_ask, call, arguments, result);
  return make_call(number, arguments);
}

GENERAL long answer(long number, const long arguments[6]) {
  const struct call *call = call_of(number);
  if (number == __NR_getdents64 && asks_for_removed(arguments[0]))
    return slowly(list, NULL, arguments, -ENOMEM);
  if (has_init) return answer_below_init(number, arguments);
  if (number == __NR_wait4) return wait_for_child(arguments);
  if (call && may_lead_out(call, arguments)) return slowly(answer_above, call, arguments, -ENOMEM);
  return answer_spelled(number, arguments);
}

static GENERAL long answer_spelled(long number, const long arguments[6]) {
  const struct call *call = call_of(number);
  long result = call && asks_before(call, arguments)
                    ? slowly(answer_before, call, arguments, -ENOMEM)
                    : make_call(number, arguments);
  if (result == -ENOENT && call &&
      (is_suspect(call->first, arguments) || is_suspect(call->second, arguments)))
    return slowly(answer_after, call, arguments, result);
  return result;
}
