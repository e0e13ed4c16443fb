/* A stand-in for libcupti.so: one subscriber, callbacks that are enabled one by one. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef void callback(void *userdata, int domain, uint32_t id, const void *data);

static callback *subscribed;
static void *its_userdata;
static unsigned char enabled[8][1024];

int cuptiSubscribe(void **subscriber, callback *function, void *userdata) {
  if (subscribed || getenv("STAND_IN_PROFILER")) return 39; /* MULTIPLE_SUBSCRIBERS */
  subscribed = function;
  its_userdata = userdata;
  *subscriber = &subscribed;
  return 0;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id) {
  const char *newest = getenv("STAND_IN_NEWEST_ID");
  if (subscriber != &subscribed || (newest && id > (uint32_t)atoi(newest))) return 1;
  enabled[domain][id] = (unsigned char)enable;
  return 0;
}

int cuptiGetResultString(int result, const char **text) {
  *text = result == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "other";
  return 0;
}

/* What the driver does when something happens. Events of the runtime (domain 2), whose ids mean
 * other calls, always arrive: the subscriber has to tell the domains apart. */
void stand_in_event(int domain, uint32_t id, const void *data) {
  int wanted = domain == 2 || enabled[domain][id];
  if (subscribed && wanted) subscribed(its_userdata, domain, id, data);
}
