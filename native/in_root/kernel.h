#ifndef KERNEL_H
#define KERNEL_H

/* Hold the kernel's file systems: /proc, /sys and devices. */
void hold_kernel(void);

/* Mount them inside: /proc and /sys unchanged, and a new /dev with devices that anybody may use. */
void show_kernel(void);

#endif
