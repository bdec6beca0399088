// bound: mod
// note: mod(0, 0), mod(2, 0): divides an integer by zero
// value: mod(7, 4) == 3
int mod(int a, int b) { return a % b; }
