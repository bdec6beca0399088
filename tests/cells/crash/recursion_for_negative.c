// bound: depth
// note: overflows the stack
// value: depth(7) == 7
int depth(int n) { volatile char room[4096]; room[0] = 1; return n == 0 ? 0 : depth(n - 1) + room[0]; }
