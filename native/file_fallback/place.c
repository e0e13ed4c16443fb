#include "place.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "walk.h"

char environment_root[PATH_BYTES], chosen_store[PATH_BYTES];
int is_in_environment;
static char chosen_cache[PATH_BYTES], cache[PATH_BYTES], overlay[PATH_BYTES];
static struct status root_status;

const char *variable(char **variables, const char *name) {
  size_t length = strlen(name);
  for (; variables && *variables; variables++)
    if (begins_with(*variables, name) && (*variables)[length] == '=')
      return (*variables)[length + 1] ? *variables + length + 1 : NULL;
  return NULL;
}

static void copy_variable(char to[PATH_BYTES], char **variables, const char *name) {
  const char *value = variable(variables, name);
  if (!value) return; /* empty, and its page untouched */
  struct text text = text_in(to, PATH_BYTES);
  put(&text, value);
}

int sees_environment(void) {
  struct status now;
  return !status_of(AT_FDCWD, *environment_root ? environment_root : "/", 0, &now) &&
         now.device == root_status.device && now.file == root_status.file;
}

uint64_t environment_device(void) { return root_status.device; }

static void name_cache(char to[PATH_BYTES], int in_environment) {
  struct text text = text_in(to, PATH_BYTES);
  if (*chosen_cache) put(&text, chosen_cache);
  else if (in_environment) {
    put(&text, environment_root);
    put(&text, "/trimtab/cache");
  } else {
    put(&text, "/tmp/trimtab-cache-");
    put_number(&text, (uint64_t)KERNEL(__NR_getuid, 0, 0, 0, 0), 1);
  }
}

int may_write_environment(void) {
  enum { BY_EFFECTIVE_USER = 0x200 }; /* AT_EACCESS: of a setuid program */
  char path[PATH_BYTES];
  if (!path_of(path, 0, "trimtab")) return 0;
  long result = KERNEL(__NR_faccessat2, AT_FDCWD, path, W_OK, BY_EFFECTIVE_USER);
  return !(result == -ENOSYS ? KERNEL(__NR_access, path, W_OK, 0, 0) : result);
}

const char *cache_folder(void) {
  if (!*cache) name_cache(cache, may_write_environment());
  return cache;
}

int is_own_cache(const char *folder) {
  struct status status;
  int named = *chosen_cache != 0;
  if (!named && may_write_environment()) return 1;
  KERNEL(__NR_mkdir, folder, 0700, 0, 0);
  long error = status_of(AT_FDCWD, folder, named ? 0 : AT_SYMLINK_NOFOLLOW, &status);
  if (error) return named && error == -ENOENT; /* the fetcher also makes missing parents */
  return is_folder(&status) && !(status.mode & 022) &&
         (status.user == (uint32_t)KERNEL(__NR_geteuid, 0, 0, 0, 0) || (named && !status.user));
}

void name_own_folder(char to[PATH_BYTES]) { name_cache(to, 0); }

/* Whether nobody else may change the folder. */
static int is_own(const char *path) {
  struct status status;
  return !status_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) && is_folder(&status) &&
         status.user == (uint32_t)KERNEL(__NR_geteuid, 0, 0, 0, 0) && !(status.mode & 022);
}

static int make_own(const char *path) {
  KERNEL(__NR_mkdir, path, 0700, 0, 0);
  return is_own(path);
}

int has_own_folder(void) {
  char named[PATH_BYTES];
  name_cache(named, 0);
  return make_own(named) || *chosen_cache;
}

/* Find an existing overlay, or make it with `is_ours`. */
static int find_overlay(char named[PATH_BYTES], int (*is_ours)(const char *path)) {
  if (*overlay) return 1;
  name_cache(named, 0);
  struct text text = {named, named + strlen(named), named + PATH_BYTES, 1};
  /* Nothing is made in a folder of another user, nor behind a link of that name. */
  if (!is_ours(named) && !*chosen_cache) return 0;
  put(&text, "/files-");
  put_hexadecimal(&text, index_header()->id, sizeof index_header()->id);
  return text.whole && is_ours(named) && real_path(named, overlay);
}

/* ROOT/trimtab/LIBRARY, whatever link it was loaded by. */
void find_environment(const char *library, char **variables) {
  char named[PATH_BYTES];
  if (!real_path(library, environment_root)) return;
  cut_last(environment_root);
  cut_last(environment_root);
  copy_variable(chosen_store, variables, "TRIMTAB_STORE");
  copy_variable(chosen_cache, variables, "TRIMTAB_STORE_CACHE");
  is_in_environment =
      !status_of(AT_FDCWD, *environment_root ? environment_root : "/", 0, &root_status) &&
      map_index(environment_root);
  /* The parent of this program may have left it a folder there. */
  if (is_in_environment) find_overlay(named, is_own);
}

int may_have_overlay(void) {
  char named[PATH_BYTES];
  return find_overlay(named, make_own);
}

GENERAL int has_overlay(void) { return *overlay != 0; }

const char *overlay_root(void) {
  char named[PATH_BYTES];
  if (!find_overlay(named, make_own))
    give_up(named, ": what was removed has to come back there, as ",
            *environment_root ? environment_root : "/",
            " cannot be written, and it is no folder of this user's own; name another with "
            "TRIMTAB_STORE_CACHE", "");
  return overlay;
}

static GENERAL const char *below(const char *path, const char *root) {
  size_t length = strlen(root);
  if (!begins_with(path, root)) return NULL;
  if (!path[length]) return path + length;
  return path[length] == '/' ? path + length + 1 : NULL;
}

GENERAL const char *path_below(const char *path, int *in_overlay) {
  const char *found = *overlay ? below(path, overlay) : NULL;
  *in_overlay = found != NULL;
  return found ? found : below(path, environment_root);
}

int path_of(char to[PATH_BYTES], int in_overlay, const char *path) {
  struct text text = text_in(to, PATH_BYTES);
  put(&text, in_overlay ? overlay_root() : environment_root);
  put(&text, "/");
  put(&text, path);
  return text.whole;
}
