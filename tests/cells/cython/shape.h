#ifndef SHAPE_H
#define SHAPE_H
#define SHAPE_SIDES 4
typedef struct { double width, height; } shape;
static inline double shape_area(const shape *s) { return s->width * s->height; }
#endif
