// types: norm2 ddd->d, grade i->i
// expect: norm2(1.0, 2.0, 2.0) == 9 exactly
// expect: grade([0, 1, 7]) == [10, 20, 0] exactly

#include <cstdint>

class Vec {
  public:
    Vec(double x, double y, double z) : x(x), y(y), z(z) {}
    double dot(const Vec &o) const { return x * o.x + y * o.y + z * o.z; }
    Vec operator+(const Vec &o) const { return {x + o.x, y + o.y, z + o.z}; }
    static double unit() { return 1; }
  private:
    double x, y, z;
};
double norm2(double x, double y, double z) { Vec v(x, y, z); return v.dot(v) * Vec::unit(); }
enum class Level : std::int8_t { low, high };
int grade(int x) { switch (static_cast<Level>(x)) { case Level::low: return 10; case Level::high: return 20; } return 0; }
