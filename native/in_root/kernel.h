#ifndef KERNEL_H
#define KERNEL_H

/* Hold what programs get of the kernel's: /proc, /sys and devices. */
void hold_kernel(void);

/* Show it inside: /proc and /sys as they are, and a new /dev that has devices anybody may use. */
void show_kernel(void);

#endif
