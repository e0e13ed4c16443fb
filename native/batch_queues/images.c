#include "images.h"

double start_image(struct state *s, struct job *job, int64_t node, double wake_s) {
  if (job->image == NIL) return wake_s;
  const struct image *image = &s->images[job->image];
  double now_s = s->clock->now_s, start_s;
  double *ready_s = &s->ready_s[node * s->image_count + job->image];
  if (*ready_s - now_s > wake_s + image->cold_s) {  // infinite: not there
    job->pulls++;
    start_s = wake_s + image->cold_s;
    *ready_s = now_s + start_s;
  } else {
    start_s = fmax(wake_s + image->warm_s, *ready_s - now_s);
  }
  job->startup_s = fmax(job->startup_s, start_s - wake_s);
  return start_s;
}

double longest_start_s(const struct state *s, const struct job *job) {
  if (job->image == NIL) return 0.0;
  return fmax(s->images[job->image].cold_s, s->images[job->image].warm_s);
}
