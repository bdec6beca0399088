#ifndef POINTS_H
#define POINTS_H
struct point { double x, y; };
enum kind { ZERO, ONE };
double norm(const struct point *p);
#endif
