// ufunc: (),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),()->(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),()
void f(double x0, double x1, double x2, double x3, double x4, double x5, double x6, double x7, double x8, double x9, double x10, double x11, double x12, double x13, double x14, double x15, double x16, double x17, double x18, double x19, double x20, double x21, double x22, double x23, double x24, double x25, double x26, double x27, double x28, double x29, double x30, double x31, double x32, double x33, double x34, double x35, double x36, double x37, double x38, double x39, double x40, double *y0, double *y1, double *y2, double *y3, double *y4, double *y5, double *y6, double *y7, double *y8, double *y9, double *y10, double *y11, double *y12, double *y13, double *y14, double *y15, double *y16, double *y17, double *y18, double *y19, double *y20, double *y21, double *y22, double *y23)
{
    *y0 = x0;
    *y1 = x1;
    *y2 = x2;
    *y3 = x3;
    *y4 = x4;
    *y5 = x5;
    *y6 = x6;
    *y7 = x7;
    *y8 = x8;
    *y9 = x9;
    *y10 = x10;
    *y11 = x11;
    *y12 = x12;
    *y13 = x13;
    *y14 = x14;
    *y15 = x15;
    *y16 = x16;
    *y17 = x17;
    *y18 = x18;
    *y19 = x19;
    *y20 = x20;
    *y21 = x21;
    *y22 = x22;
    *y23 = x23;
}
