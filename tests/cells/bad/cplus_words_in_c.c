double f(double x) { auto g = [](double y) { return y; }; return std::abs(g(x)); }
