int used(int x) { return x + 1; }
int never(int x) { return x * x + 2; }
