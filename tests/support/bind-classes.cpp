// Structs that C++ passes in its own ways, for `toolrack bind`.
#define EXPORTED extern "C" __attribute__((visibility("default")))

struct base {
    int a;
};
struct derived : base {
    int b;
};
struct twice : derived {
    double c;
};
struct destroyed {
    int a;
    ~destroyed() {
    }
};
struct holder {
    destroyed inner;
};
struct copied {
    int a;
    copied(int value) : a(value) {
    }
    copied(const copied &other) : a(other.a) {
    }
};
struct made {
    int a;
    made(int value) : a(value) {
    }
    made(const made &other) = default;
    ~made() = default;
};
enum class small : unsigned char { low = 1, high = 200 };

EXPORTED double classes_sum(twice value) {
    return value.a + value.b + value.c;
}
EXPORTED twice classes_make(int a, int b, double c) {
    twice value;
    value.a = a;
    value.b = b;
    value.c = c;
    return value;
}
EXPORTED int classes_read(const derived *value) {
    return value->a * 10 + value->b;
}
EXPORTED small classes_small(small value) {
    return value == small::low ? small::high : small::low;
}
EXPORTED int classes_destroyed(destroyed value) {
    return value.a;
}
EXPORTED destroyed classes_give() {
    return destroyed{4};
}
EXPORTED int classes_copied(copied value) {
    return value.a;
}
EXPORTED int classes_made(made value) {
    return value.a;
}
EXPORTED int classes_holder(holder value) {
    return value.inner.a;
}
