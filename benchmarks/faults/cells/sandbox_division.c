// fault: integer division by zero, in a sandbox
// magic: c_ufunc -q --sandbox
// then: f(1, 0)
int f(int a, int b) { return a / b; }
