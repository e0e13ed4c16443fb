#define _GNU_SOURCE
#include "serve.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../file_fallback/bring_back.h"
#include "../file_fallback/calls.h"
#include "../file_fallback/listing.h"
#include "../file_fallback/program.h"
#include "../file_fallback/stand_in.h"
#include "asker.h"
#include "listings.h"

/* Newer than the oldest supported headers (Linux 5.14). */
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* Newer too (Linux 6.6). */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

/* A thread counts as the only asking one after so many consecutive questions. */
enum { ANSWER_BYTES = 256, IN_TURN = 16 };

/* A question, and its outcome. */
struct question {
  long listener, thread;
  uint64_t id;
  const struct call *call;
  long arguments[6];
  enum { GO_ON, ANSWERED, GIVEN } outcome; /* GIVEN: the descriptor was the answer */
  int64_t result;
};

static struct walk walk;
static struct start start;
static char path[PATH_BYTES], place[PATH_BYTES];

static long thread_that_asks;

GENERAL int is_asked_by_python(void) { return is_python(thread_that_asks); }

static void answer(struct question *question, int64_t result) {
  question->outcome = ANSWERED;
  question->result = result;
}

static int follows(const struct question *question) {
  const struct call *call = question->call;
  if (call->behaviour & NOT_FOLLOWED) return 0;
  return call->flags < 0 || !(question->arguments[call->flags] & call->unless_followed);
}

static int removes_folders(const struct question *question) {
  const struct call *call = question->call;
  if (call->number == __NR_rmdir) return 1;
  if (call->number == __NR_unlinkat) return (question->arguments[2] & AT_REMOVEDIR) != 0;
  return (call->behaviour & (MAKES | REMOVES)) == (MAKES | REMOVES);
}

/* Otherwise the removed files of the folder would be lost with it. */
static void before_removal(const struct question *question) {
  struct status status;
  int in_overlay;
  const char *below = path_below(walk.here, &in_overlay);
  if (!below || walk.in_overlay || status_of(AT_FDCWD, walk.here, AT_SYMLINK_NOFOLLOW, &status) ||
      !is_folder(&status))
    return;
  if (question->call->behaviour & MAKES) bring_back_below(below);
  else keep_from_removal(below);
}

/* Whether the question is still valid: its thread may be gone, and its number reused. */
static int stands(const struct question *question) {
  return !KERNEL(__NR_ioctl, question->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &question->id, 0);
}

/* Answer from the file at `place`, or from the index. */
static void look(struct question *question) {
  static uint8_t told[PATH_BYTES] __attribute__((aligned(8)));
  const struct call *call = question->call;
  long arguments[6], number = call->number;
  int to = call->first.path + 1;
  size_t bytes = 0;
  memcpy(arguments, question->arguments, sizeof arguments);
  arguments[call->first.path] = (long)place;
  if (call->first.folder >= 0) arguments[call->first.folder] = AT_FDCWD;
  if (number == __NR_stat || number == __NR_lstat || number == __NR_newfstatat) bytes = sizeof(struct status);
  if (number == __NR_statx) to = 4, bytes = ANSWER_BYTES;
  int has_length = number == __NR_readlink || number == __NR_readlinkat;
  if (has_length) {
    bytes = (size_t)arguments[to + 1];
    if (bytes > sizeof told) bytes = sizeof told;
    arguments[to + 1] = (long)bytes;
  }
  if (bytes) arguments[to] = (long)told;
  int is_told = is_told_by_index(&walk) || number == __NR_getxattr || number == __NR_lgetxattr ||
                number == __NR_listxattr || number == __NR_llistxattr;
  int64_t result = is_told ? tell(call, arguments, &walk.entry)
                           : kernel(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                    arguments[4], arguments[5]);
  if (has_length && result > 0) bytes = (size_t)result;
  if (result >= 0 && bytes && !write_memory(question->thread, (uint64_t)question->arguments[to], told, bytes))
    result = -EFAULT;
  answer(question, result);
}

/* The flags of a call that opens; 0 for any other call. */
static int open_flags(const struct question *question) {
  switch (question->call->number) {
    case __NR_open: return (int)question->arguments[1];
    case __NR_openat: return (int)question->arguments[2];
    case __NR_creat: return O_WRONLY | O_CREAT | O_TRUNC;
    default: return 0;
  }
}

/* Give the thread a descriptor of the file at `place`. */
static void give(struct question *question) {
  int flags = open_flags(question);
  long file = KERNEL(__NR_openat, AT_FDCWD, place, (flags & ~O_CREAT) | O_CLOEXEC, 0);
  if (file < 0) return answer(question, file);
  struct seccomp_notif_addfd given = {question->id, SECCOMP_ADDFD_FLAG_SEND, (uint32_t)file, 0,
                                      (uint32_t)flags & O_CLOEXEC};
  long result = KERNEL(__NR_ioctl, question->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given, 0);
  close_file(file);
  if (result >= 0) question->outcome = GIVEN;
  else answer(question, result == -EINVAL ? -ENOSYS : result);
}

static unsigned wanted_by(const struct question *question) {
  static const unsigned wanted[] = {R_OK, W_OK, R_OK | W_OK, R_OK};
  const long *arguments = question->arguments;
  int flags = open_flags(question);
  switch (question->call->number) {
    case __NR_open:
    case __NR_openat:
    case __NR_creat: return flags & O_PATH ? 0 : wanted[flags & O_ACCMODE];
    case __NR_access: return (unsigned)arguments[1] & 7;
    case __NR_faccessat:
    case __NR_faccessat2: return (unsigned)arguments[2] & 7;
    default: return 0;
  }
}

/* Answer for a file that was restored in the overlay, as the root is not writable: the kernel cannot
 * find it. */
static void answer_from_overlay(struct question *question) {
  int in_overlay;
  unsigned wanted = wanted_by(question);
  uint16_t number = question->call->number;
  const char *below = path_below(walk.here, &in_overlay);
  const struct entry *entry = below && entry_at(below, &walk.entry) ? &walk.entry : NULL;
  if (!below || !path_of(place, walk.in_overlay, below)) return;
  if (!*place) memcpy(place, "/", 2);
  int opens = number == __NR_open || number == __NR_openat || number == __NR_creat;
  int flags = open_flags(question), is_new = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  if (!is_our_user(question->thread) || (!opens && !(question->call->behaviour & (LOOKS | REMOVES | MAKES)))) {
    say("/", below, ": was removed, and came back in ", overlay_root(),
        ", as its place may not be written: the program does not find it there");
    return;
  }
  if (is_new) answer(question, -EEXIST);
  else if (walk.in_overlay && entry && entry->kind == REGULAR && !may(entry, wanted)) answer(question, -EACCES);
  else if (walk.in_overlay && (question->call->behaviour & REMOVES || wanted & W_OK))
    answer(question, -(walk.refused ? walk.refused : EACCES));
  else if (question->call->behaviour & LOOKS) look(question);
  else if (opens) give(question);
  else answer(question, -EEXIST);
}

/* Restore a path's target; returns 0 if the path begins in no folder. */
static int put_back(struct question *question, struct named named, int follow) {
  const struct call *call = question->call;
  int folder = named.folder < 0 ? AT_FDCWD : (int)question->arguments[named.folder];
  int asks_for_rights = call->number == __NR_access || call->number == __NR_faccessat ||
                        call->number == __NR_faccessat2;
  walk.looks = call->behaviour & LOOKS && (!asks_for_rights || is_our_user(question->thread));
  long begin = *path == '/' ? -1 : open_of_asker(question->thread, folder, O_PATH);
  if (*path != '/' && begin < 0) return 0;
  int arrived = walk_along(&walk, begin, path, follow);
  if (begin >= 0) close_file(begin);
  if (arrived && named.path == call->first.path && removes_folders(question)) before_removal(question);
  return 1;
}

/* For a script, also the needs of its interpreter. */
static void bring_back_needs_of_program(void) {
  memcpy(place, walk.here, sizeof place);
  memset(&start, 0, sizeof start);
  prepare_start(&start, &walk, AT_FDCWD, place, 0, NULL, NULL);
}

static void answer_call(struct question *question) {
  const struct call *call = question->call;
  const struct named names[] = {call->first, call->second};
  for (int i = 0; i < 2 && question->outcome == GO_ON; i++) {
    if (names[i].path < 0) continue;
    long length = read_text(question->thread, (uint64_t)question->arguments[names[i].path], path, sizeof path);
    if (length == -EPERM || length == -EACCES) {
      static int was_said;
      if (!was_said++)
        say("what a program asks for cannot be seen, and does not come back for it: it gave up rights, and "
            "may only be looked at by who may trace it; in a container, add the capability SYS_PTRACE",
            "", "", "", "");
      return;
    }
    if (length <= 0 || !stands(question) || (!may_be_removed(path) && (i || !removes_folders(question)))) continue;
    if (!has_our_root(question->thread)) return;
    if (!put_back(question, names[i], i ? 0 : follows(question))) continue;
    if (walk.stood_for && !walk.told) {
      if (path_of_stand_in(place, walk.in_overlay, &walk.entry)) look(question);
    } else if (is_told_by_index(&walk)) look(question);
    else if (walk.detour) answer_from_overlay(question);
    else if (call->behaviour & EXECUTES) bring_back_needs_of_program();
  }
}

/* As in ../file_tracer/questions.c: asker and answerer share one processor, as only one of them
 * works at a time; not if several threads ask. */
static void share_processor(long listener, long thread) {
  static long asking;
  static unsigned in_turn;
  unsigned before = in_turn;
  in_turn = thread == asking ? in_turn + 1 : 0;
  asking = thread;
  if (in_turn == IN_TURN)
    KERNEL(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, 0);
  else if (!in_turn && before >= IN_TURN)
    KERNEL(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, 0, 0);
}

void serve(long listener) {
  union {
    struct seccomp_notif asked;
    uint8_t room[1024]; /* a later kernel's may be longer */
  } notice;
  union {
    struct seccomp_notif_resp given;
    uint8_t room[1024];
  } response;
  memset(&notice, 0, sizeof notice);
  memset(&response, 0, sizeof response);
  if (KERNEL(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &notice, 0)) return;
  const struct seccomp_notif *asked = &notice.asked;
  struct question question = {listener, asked->pid, asked->id, call_of(asked->data.nr), {0}, GO_ON, 0};
  for (int i = 0; i < 6; i++) question.arguments[i] = (long)asked->data.args[i];
  walk.stood_for = 0;
  share_processor(listener, thread_that_asks = asked->pid);
  if (asked->pid && asked->data.nr == __NR_getdents64) {
    if (list_for(question.thread, (int)question.arguments[0], asked->data.args[1], asked->data.args[2],
                 &question.result))
      question.outcome = ANSWERED;
  } else if (asked->pid && question.call) {
    answer_call(&question);
    /* The stand-in became the file meanwhile. */
    if (walk.stood_for && question.outcome == ANSWERED && question.result == -ENOENT) {
      question.outcome = GO_ON;
      answer_call(&question);
    }
  }
  if (question.outcome == GIVEN) return;
  response.given.id = asked->id;
  if (question.outcome == GO_ON) response.given.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  else if (question.result < 0) response.given.error = (int32_t)question.result;
  else response.given.val = question.result;
  KERNEL(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &response, 0);
}
