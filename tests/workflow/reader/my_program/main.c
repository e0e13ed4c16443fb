#include <stdio.h>
int used(int);
int main(int count, char **words) { return printf("%d %s\n", used(count), words[1]) < 0; }
