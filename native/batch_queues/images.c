#include "images.h"

// Returns when a node that is awake in `wake_s` has `bytes` more of an image, from now on.
static double pull(struct state *s, const struct image *image, double bytes, double wake_s) {
  struct clock *clock = s->clock;
  double fetched_s = wake_s + image->fetch_s * (image->bytes > 0.0 ? bytes / image->bytes : 1.0);
  if (clock->link_bytes_per_s == INFINITY) return fetched_s;
  double begin_s = fmax(clock->link_free_s, clock->now_s + wake_s);
  clock->link_free_s = begin_s + bytes / clock->link_bytes_per_s;
  return fmax(fetched_s, clock->link_free_s - clock->now_s);
}

double start_image(struct state *s, struct job *job, int64_t node, double wake_s) {
  if (job->image == NIL) return wake_s;
  const struct image *image = &s->images[job->image];
  const int64_t *layers = s->image_layers + image->first_layer;
  double *ready_s = s->ready_s + node * s->layer_count;
  double there_s = wake_s, missing_bytes = 0.0;
  int64_t missing = 0;
  for (int64_t at = 0; at < image->layers; at++) {
    if (ready_s[layers[at]] == INFINITY)
      missing_bytes += s->layer_bytes[layers[at]], missing++;
    else
      there_s = fmax(there_s, ready_s[layers[at]] - s->clock->now_s);
  }
  if (missing > 0) {
    double pulled_s = pull(s, image, missing_bytes, wake_s);
    for (int64_t at = 0; at < image->layers; at++)
      if (ready_s[layers[at]] == INFINITY) ready_s[layers[at]] = s->clock->now_s + pulled_s;
    there_s = fmax(there_s, pulled_s);
    job->pulls++;
    job->pulled_bytes += missing_bytes;
  }
  job->startup_s = fmax(job->startup_s, there_s + image->warm_s - wake_s);
  return there_s + image->warm_s;
}

double longest_start_s(const struct state *s, const struct job *job) {
  if (job->image == NIL) return 0.0;
  return s->images[job->image].fetch_s + s->images[job->image].warm_s;
}
