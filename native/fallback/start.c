/* A library loaded into the programs of a slim environment. A call into removed code traps (0xCC)
 * or faults (a page that left the file); the handlers put the function's original bytes back, so
 * that the call goes on, and what happens then depends on TRIMTAB_FALLBACK:
 *   strict   (the default) a Python RuntimeError that names the function, at the next bytecode of
 *            the main thread, and the first of these messages on standard error; a program without
 *            Python ends with a message and status 70
 *   restore  nothing; the call is recorded
 *   report   nothing; only the number of such functions is recorded, at exit
 * It runs in the middle of any code: no allocation, and only calls that signal handlers may make. */
#include "events.h"
#include "place.h"
#include "signals.h"

__attribute__((constructor)) static void start(void) {
  find_environment();
  start_events();
  catch_signals();
}
