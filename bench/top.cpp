// The constrained heavy top on S3 x R3, written by hand: what the generic driver is measured against.
// RATTLie and generalized-alpha (index 3), exact Newton matrices, the same first guesses and the same stopping rule as Kreisel:
// increments at most tol + tol |x| in the maximum norm, or a quadratic estimate of what is left below that.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

using V3 = double[3];
using M3 = double[9];

static const double m = 15.0, J[3] = {0.234375, 0.46875, 0.234375}, G[3] = {0, 0, -9.81}, X[3] = {0, 1, 0};

static inline void cross(const double* a, const double* b, double* c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
static inline double dot(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void rotation(const double* p, double* R) {
    const double w = p[0], x = p[1], y = p[2], z = p[3];
    R[0] = 1 - 2 * (y * y + z * z), R[1] = 2 * (x * y - w * z), R[2] = 2 * (x * z + w * y);
    R[3] = 2 * (x * y + w * z), R[4] = 1 - 2 * (x * x + z * z), R[5] = 2 * (y * z - w * x);
    R[6] = 2 * (x * z - w * y), R[7] = 2 * (y * z + w * x), R[8] = 1 - 2 * (x * x + y * y);
}
static inline void transposed(const double* R, const double* a, double* b) {
    for (int i = 0; i < 3; i++) b[i] = R[i] * a[0] + R[3 + i] * a[1] + R[6 + i] * a[2];
}
// p exp(d)
static inline void turned(const double* p, const double* d, double* q) {
    const double s = dot(d, d), x = std::sqrt(s);
    const double c = std::cos(x / 2), f = x < 1e-4 ? 0.5 - s / 48 : std::sin(x / 2) / x;
    const double e[3] = {f * d[0], f * d[1], f * d[2]};
    q[0] = p[0] * c - p[1] * e[0] - p[2] * e[1] - p[3] * e[2];
    q[1] = p[0] * e[0] + c * p[1] + p[2] * e[2] - p[3] * e[1];
    q[2] = p[0] * e[1] + c * p[2] + p[3] * e[0] - p[1] * e[2];
    q[3] = p[0] * e[2] + c * p[3] + p[1] * e[1] - p[2] * e[0];
}
static inline void skew(const double* a, double* K) {
    K[0] = 0, K[1] = -a[2], K[2] = a[1], K[3] = a[2], K[4] = 0, K[5] = -a[0], K[6] = -a[1], K[7] = a[0], K[8] = 0;
}
static inline void product(const double* A, const double* B, double* C) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}
// T(d) = I + f2 K + f3 K^2
static inline void tangent(const double* d, double* T) {
    const double s = dot(d, d), x = std::sqrt(s);
    double f2, f3;
    if (s < 0.3) {
        f2 = -0.5 + s * (1 / 24. - s * (1 / 720. - s * (1 / 40320. - s / 3628800.)));
        f3 = 1 / 6. - s * (1 / 120. - s * (1 / 5040. - s * (1 / 362880. - s / 39916800.)));
    } else {
        f2 = (std::cos(x) - 1) / s, f3 = (x - std::sin(x)) / (s * x);
    }
    M3 K, K2;
    skew(d, K), product(K, K, K2);
    for (int i = 0; i < 9; i++) T[i] = f2 * K[i] + f3 * K2[i];
    T[0] += 1, T[4] += 1, T[8] += 1;
}
static inline void inverse_functions(double s, double& f6, double& f8) {
    if (s < 0.3) {
        f6 = 1 / 12. + s * (1 / 720. + s * (1 / 30240. + s * (1 / 1209600. + s / 47900160.)));
        f8 = 1 / 360. + s * (1 / 7560. + s * (1 / 201600. + s * (1 / 5987520. + s * 5.284190138687493e-09)));
    } else {
        const double x = std::sqrt(s), sine = std::sin(x / 2), cot = std::cos(x / 2) / sine;
        f6 = (1 - x / 2 * cot) / s, f8 = (-2 / s + cot / (2 * x) + 1 / (4 * sine * sine)) / s;
    }
}

// LU with partial pivoting and one right-hand side; overwrites both.
static inline bool solve(double (&A)[9][9], double (&b)[9]) {
    for (int j = 0; j < 9; j++) {
        int p = j;
        for (int i = j + 1; i < 9; i++)
            if (std::fabs(A[i][j]) > std::fabs(A[p][j])) p = i;
        if (!(std::fabs(A[p][j]) > 0)) return false;
        if (p != j) {
            for (int k = j; k < 9; k++) std::swap(A[p][k], A[j][k]);
            std::swap(b[p], b[j]);
        }
        const double r = 1 / A[j][j];
        for (int i = j + 1; i < 9; i++) {
            const double l = A[i][j] * r;
            for (int k = j + 1; k < 9; k++) A[i][k] -= l * A[j][k];
            b[i] -= l * b[j];
        }
    }
    for (int j = 8; j >= 0; j--) {
        double s = b[j];
        for (int k = j + 1; k < 9; k++) s -= A[j][k] * b[k];
        b[j] = s / A[j][j];
    }
    return true;
}

struct Test {  // the stopping rule
    double tol, old = -1;
    bool done(double (&x)[9], const double (&dx)[9]) {
        double e = 0;
        for (int i = 0; i < 9; i++) x[i] -= dx[i], e = std::max(e, std::fabs(dx[i]) / (tol + tol * std::fabs(x[i])));
        if (e <= 1) return true;
        if (old > 0) {
            const double rate = e / old;
            if (rate < 0.9 && e * rate * rate <= 1) return true;
        }
        old = e;
        return false;
    }
};

struct Top {
    double p[4] = {1, 0, 0, 0}, x[3] = {0, 1, 0}, W[3] = {0, 150, -4.61538}, u[3], l[3];
    double a[6], alpha[6], w[6];  // generalized-alpha: v' and a; RATTLie: mean velocities
    long iterations = 0;

    Top() {
        cross(W, X, u);
        for (int i = 0; i < 3; i++) w[i] = W[i], w[3 + i] = u[i];
        accelerations();
    }
    // Consistent accelerations and multiplier of the start.
    void accelerations() {
        double A[9][9] = {}, b[9], R[9], y[3], JW[3], c[3], z[3], t[3];
        rotation(p, R), transposed(R, x, y);
        M3 Y;
        skew(y, Y);
        for (int i = 0; i < 3; i++) JW[i] = J[i] * W[i];
        cross(W, JW, c);
        // d/dt (skew(y) W + R^T u), y = R^T x: -W x (skew(y) W + R^T u) ... with y' = R^T u - W x y
        double ru[3], yd[3];
        transposed(R, u, ru), cross(W, y, yd);
        for (int i = 0; i < 3; i++) yd[i] = ru[i] - yd[i];
        cross(yd, W, z), cross(W, ru, t);
        for (int i = 0; i < 3; i++) {
            A[i][i] = J[i], A[3 + i][3 + i] = m;
            b[i] = -c[i], b[3 + i] = m * G[i], b[6 + i] = -(z[i] - t[i]);
            for (int k = 0; k < 3; k++) A[6 + i][k] = Y[3 * i + k], A[k][6 + i] = Y[3 * i + k], A[6 + i][3 + k] = R[3 * k + i], A[3 + k][6 + i] = R[3 * k + i];
        }
        solve(A, b);
        for (int i = 0; i < 6; i++) a[i] = alpha[i] = b[i];
        for (int i = 0; i < 3; i++) l[i] = b[6 + i];
    }

    bool alpha_step(double h, double tol) {
        const double rho = 0.9, am = (2 * rho - 1) / (rho + 1), af = rho / (rho + 1), ga = 0.5 + af - am, be = (ga + 0.5) * (ga + 0.5) / 4;
        const double v0[6] = {W[0], W[1], W[2], u[0], u[1], u[2]}, cv = ga / be, ca = (1 - am) / (be * (1 - af));
        double xi[9], p1[4], x1[3], R[9], y[3], v[6], vd[6], an[6];
        for (int i = 0; i < 6; i++) xi[i] = v0[i] + h / 2 * alpha[i];
        for (int i = 0; i < 3; i++) xi[6 + i] = h * l[i];
        Test test{tol};
        auto rates = [&] {
            for (int i = 0; i < 6; i++) {
                an[i] = (xi[i] - v0[i] - h * (0.5 - be) * alpha[i]) / (h * be);
                v[i] = v0[i] + h * ((1 - ga) * alpha[i] + ga * an[i]);
                vd[i] = ((1 - am) * an[i] + am * alpha[i] - af * a[i]) / (1 - af);
            }
            const double d[3] = {h * xi[0], h * xi[1], h * xi[2]};
            turned(p, d, p1);
            for (int i = 0; i < 3; i++) x1[i] = x[i] + h * xi[3 + i];
        };
        for (int it = 0; it < 30; it++) {
            rates();
            rotation(p1, R), transposed(R, x1, y);
            const double *L = xi + 6, d[3] = {h * xi[0], h * xi[1], h * xi[2]};
            double T[9], JW[3] = {J[0] * v[0], J[1] * v[1], J[2] * v[2]}, c[3], ly[3], r[9], A[9][9] = {};
            tangent(d, T), cross(v, JW, c), cross(L, y, ly);
            for (int i = 0; i < 3; i++) {
                r[i] = h * (J[i] * vd[i] + c[i]) + ly[i];
                r[3 + i] = h * m * (vd[3 + i] - G[i]) + R[3 * i] * L[0] + R[3 * i + 1] * L[1] + R[3 * i + 2] * L[2];
                r[6 + i] = (y[i] - X[i]) / h;
            }
            M3 Y, LK, WK, JK, LY, RL, H, Q;
            skew(y, Y), skew(L, LK), skew(v, WK), skew(JW, JK), product(LK, Y, LY), product(R, LK, RL);
            for (int i = 0; i < 9; i++) H[i] = h * T[i];
            product(LY, H, Q);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) A[i][k] = h * cv * (WK[3 * i + k] * J[k] - JK[3 * i + k]) + Q[3 * i + k] + (i == k ? J[i] * ca : 0);
            product(RL, H, Q);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) A[3 + i][k] = -Q[3 * i + k];
            product(Y, T, Q);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) A[6 + i][k] = Q[3 * i + k], A[6 + i][3 + k] = R[3 * k + i], A[3 + k][6 + i] = R[3 * k + i], A[i][6 + k] = -Y[3 * i + k];
            for (int i = 0; i < 3; i++) A[3 + i][3 + i] = m * ca;
            if (!solve(A, r)) return false;
            iterations++;
            if (test.done(xi, r)) {
                rates();
                std::memcpy(p, p1, sizeof p), std::memcpy(x, x1, sizeof x), std::memcpy(alpha, an, sizeof an), std::memcpy(a, vd, sizeof vd);
                for (int i = 0; i < 3; i++) W[i] = v[i], u[i] = v[3 + i], l[i] = xi[6 + i] / h;
                return true;
            }
        }
        return false;
    }

    bool rattlie_step(double h, double tol) {
        double xi[9], p1[4], x1[3], R0[9], y0[3];
        for (int i = 0; i < 3; i++) xi[i] = 2 * W[i] - w[i], xi[3 + i] = 2 * u[i] - w[3 + i], xi[6 + i] = h * l[i];
        rotation(p, R0), transposed(R0, x, y0);
        Test test{tol};
        bool ok = false;
        double R[9], y[3];
        for (int it = 0; it < 30 && !ok; it++) {
            const double *L = xi + 6, d[3] = {h * xi[0], h * xi[1], h * xi[2]};
            turned(p, d, p1);
            for (int i = 0; i < 3; i++) x1[i] = x[i] + h * xi[3 + i];
            rotation(p1, R), transposed(R, x1, y);
            double f6, f8, T[9], r[9], A[9][9] = {}, Jw[3] = {J[0] * xi[0], J[1] * xi[1], J[2] * xi[2]}, c[3], cc[3], ly[3];
            inverse_functions(dot(d, d), f6, f8);
            // T^-T(-d) Jw = Jw + d x Jw / 2 + f6 d x (d x Jw)
            cross(d, Jw, c), cross(d, c, cc), cross(L, y0, ly);
            for (int i = 0; i < 3; i++) {
                r[i] = Jw[i] + c[i] / 2 + f6 * cc[i] - J[i] * W[i] + ly[i] / 2;
                r[3 + i] = m * (xi[3 + i] - u[i]) - h / 2 * m * G[i] + (R0[3 * i] * L[0] + R0[3 * i + 1] * L[1] + R0[3 * i + 2] * L[2]) / 2;
                r[6 + i] = (y[i] - X[i]) / (2 * h);
            }
            M3 D, D2, JK, Y, Y0, DJ, CK, Q;
            tangent(d, T), skew(d, D), product(D, D, D2), skew(Jw, JK), skew(y, Y), skew(y0, Y0), product(D, JK, DJ), skew(c, CK);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) {
                    // through J w, and through d
                    const double outer = ((i == k) + D[3 * i + k] / 2 + f6 * D2[3 * i + k]) * J[k];
                    A[i][k] = outer + h * (-JK[3 * i + k] / 2 - f6 * (CK[3 * i + k] + DJ[3 * i + k]) + f8 * cc[i] * d[k]);
                }
            product(Y, T, Q);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++)
                    A[6 + i][k] = Q[3 * i + k] / 2, A[6 + i][3 + k] = R[3 * k + i] / 2, A[3 + k][6 + i] = R0[3 * k + i] / 2, A[i][6 + k] = -Y0[3 * i + k] / 2;
            for (int i = 0; i < 3; i++) A[3 + i][3 + i] = m;
            if (!solve(A, r)) return false;
            iterations++;
            ok = test.done(xi, r);
        }
        if (!ok) return false;
        const double d[3] = {h * xi[0], h * xi[1], h * xi[2]};
        turned(p, d, p1);
        for (int i = 0; i < 3; i++) x1[i] = x[i] + h * xi[3 + i];
        rotation(p1, R), transposed(R, x1, y);
        // The second stage is linear.
        double f6, f8, A[9][9] = {}, r[9], Jw[3] = {J[0] * xi[0], J[1] * xi[1], J[2] * xi[2]}, c[3], cc[3], Y[9];
        inverse_functions(dot(d, d), f6, f8);
        cross(d, Jw, c), cross(d, c, cc), skew(y, Y);
        for (int i = 0; i < 3; i++) {
            r[i] = Jw[i] - c[i] / 2 + f6 * cc[i], r[3 + i] = m * xi[3 + i] + h / 2 * m * G[i], r[6 + i] = 0;
            A[i][i] = J[i], A[3 + i][3 + i] = m;
            for (int k = 0; k < 3; k++) A[6 + i][k] = Y[3 * i + k], A[k][6 + i] = Y[3 * i + k] / 2, A[6 + i][3 + k] = R[3 * k + i], A[3 + k][6 + i] = R[3 * k + i] / 2;
        }
        if (!solve(A, r)) return false;
        iterations++;
        std::memcpy(p, p1, sizeof p), std::memcpy(x, x1, sizeof x), std::memcpy(w, xi, sizeof w);
        for (int i = 0; i < 3; i++) W[i] = r[i], u[i] = r[3 + i], l[i] = r[6 + i] / h;
        return true;
    }
};

// top METHOD STEPS H TOL REPETITIONS -> microseconds per step (best), iterations per step, position at the end
int main(int, char** argv) {
    const bool rattlie = !std::strcmp(argv[1], "rattlie");
    const int steps = std::atoi(argv[2]), repetitions = std::atoi(argv[5]);
    const double h = std::atof(argv[3]), tol = std::atof(argv[4]);
    double best = 1e300;
    Top last;
    for (int k = 0; k < repetitions; k++) {
        Top top;
        const std::clock_t begin = std::clock();
        for (int n = 0; n < steps; n++)
            if (!(rattlie ? top.rattlie_step(h, tol) : top.alpha_step(h, tol))) return 1;
        best = std::min(best, double(std::clock() - begin) / CLOCKS_PER_SEC / steps * 1e6);
        last = top;
    }
    std::printf("%.6f %.6f %.15g %.15g %.15g\n", best, double(last.iterations) / steps, last.x[0], last.x[1], last.x[2]);
}
