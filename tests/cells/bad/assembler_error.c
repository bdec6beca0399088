double f(double x) { __asm__("no_such_instruction %0" : "+x"(x)); return x; }
