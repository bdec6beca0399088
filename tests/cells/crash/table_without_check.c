// bound: days
// note: days(2147483647)
// value: days(1) == 28
static const int table[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
int days(int month) { return table[month]; }
