/* The signals that calls into removed code raise. */
#ifndef TRIMTAB_SIGNALS_H
#define TRIMTAB_SIGNALS_H

void catch_signals(void);

#endif
