// types: haversine dddd->d
// given: rome, oslo = (41.9, 12.5), (59.9, 10.75)
// expect: haversine(*rome, *oslo) == 2005.4 within 1e-3
// expect: haversine(10, [0.0, 90.0], 10, [0.0, 90.0]) == [0, 0] exactly
// expect: haversine(0, 0, 0, 180) == np.pi * 6371.0088 within 3e-8

#include <math.h>
#define RADIANS(x) ((x) * M_PI / 180)
static const double radius = 6371.0088; /* km, mean */

double haversine(double lat1, double lon1, double lat2, double lon2)
{
    double u = sin(RADIANS(lat2 - lat1) / 2), v = sin(RADIANS(lon2 - lon1) / 2);
    return 2 * radius * asin(sqrt(u*u + cos(RADIANS(lat1)) * cos(RADIANS(lat2)) * v*v));
}
