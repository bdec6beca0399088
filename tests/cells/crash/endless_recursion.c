// expect: overflows the stack
int f(int x) { volatile char room[4096]; room[0] = (char)x; return f(x + 1) + room[0]; }
