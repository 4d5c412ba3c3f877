// Every type and option of toolrack/plugin.hpp, in tools that mostly return what they were given.
// cases.json has what they are called with.
#include <toolrack/plugin.hpp>

#include <algorithm>
#include <cstdint>

enum class unit : std::uint8_t { kilometre = 1, mile = 200 };
TR_DEFINE_ENUM(unit, tr::choice("km", unit::kilometre), tr::choice("mile", unit::mile))

struct point {
    float x;
    std::int8_t level;
    double y;
};
TR_DEFINE_STRUCT(point, tr::field(&point::x, tr::param("x", "abscissa").minimum("-10")),
                 tr::field(&point::level, "level", "of the map"),
                 tr::field(&point::y, "y", "ordinate"))

struct place {
    std::string name;
    point at;
    unit in;
    std::optional<std::uint16_t> height;
    std::optional<std::string> note;
    std::vector<std::string> tags;
    std::vector<std::byte> raw;
    tr::json any;
    std::optional<std::vector<point>> way;
};
TR_DEFINE_STRUCT(place, tr::field(&place::name, "name", "of the place"),
                 tr::field(&place::at, "at", "where it is"), tr::field(&place::in, "in", "unit"),
                 tr::field(&place::height, "height", "in metres"),
                 tr::field(&place::note, "note", "about it"),
                 tr::field(&place::tags, "tags", "words"), tr::field(&place::raw, "raw", "bytes"),
                 tr::field(&place::any, "any", "a value"), tr::field(&place::way, "way", "to it"))

namespace {

place same_place(const place &given) {
    return given;
}
constexpr auto same_place_tool =
        tr::tool<same_place>("cxx_same_place", "Return a place as it was given, for tests.",
                             tr::param("place", "any place"))
                .example(R"({"place": {"name": "home", "at": {"x": 1, "level": 0, "y": 2},
                                       "in": "km", "tags": [], "raw": "AA==", "any": {}}})",
                         R"({"name": "home", "at": {"x": 1, "level": 0, "y": 2}, "in": "km",
                             "tags": [], "raw": "AA==", "any": {}})");

std::vector<place> backwards(std::vector<place> places, std::optional<point> first) noexcept {
    std::reverse(places.begin(), places.end());
    if (first && !places.empty()) {
        places.front().at = *first;
    }
    return places;
}
constexpr auto backwards_tool =
        tr::tool<backwards>("cxx_backwards", "Return places in the other order, for tests.",
                            tr::param("places", "some places").items(0, 3).unique_items(),
                            tr::param("first", "where the first one is then"))
                .example(R"({"places": []})", "[]");

// Wider and more than registers have room for, with what is two values in C between them.
std::string many(bool a, std::int8_t b, std::uint8_t c, std::int16_t d, std::uint16_t e, int f,
                 unsigned g, long long h, unsigned long i, float j, double k, std::string_view l,
                 const std::vector<std::byte> &m, const char *n, const std::vector<double> &o,
                 unit p, std::optional<bool> q, std::optional<std::string_view> r) {
    double sum = 0;
    for (double each : o) {
        sum += each;
    }
    std::string text;
    for (const std::string &each :
         {std::to_string(a), std::to_string(b), std::to_string(c), std::to_string(d),
          std::to_string(e), std::to_string(f), std::to_string(g), std::to_string(h),
          std::to_string(i), std::to_string(j), std::to_string(k), std::string(l),
          std::to_string(m.size()), std::string(n), std::to_string(sum),
          std::to_string(static_cast<int>(p)), std::to_string(q.value_or(false)),
          std::string(r.value_or("none"))}) {
        text += each + ' ';
    }
    text.pop_back();
    return text;
}
constexpr auto many_tool =
        tr::tool<many>(
                "cxx_many", "Put many values into one text, for tests.", tr::param("a", "a"),
                tr::param("b", "b"), tr::param("c", "c"), tr::param("d", "d"), tr::param("e", "e"),
                tr::param("f", "f").multiple_of("3"), tr::param("g", "g"), tr::param("h", "h"),
                tr::param("i", "i"), tr::param("j", "j").maximum("100").exclusive_maximum("99.5"),
                tr::param("k", "k").standard("0.5"),
                tr::param("l", "l").lengths(1, 9).pattern("^[a-z]+$"), tr::param("m", "m"),
                tr::param("n", "n").choices(R"(["one", "two"])").format("word"),
                tr::param("o", "o"), tr::param("p", "p"), tr::param("q", "q"), tr::param("r", "r"))
                .flags(TR_READ_ONLY | TR_IDEMPOTENT)
                .priority(7)
                .deadline_ms(9000)
                .version("1.2.3")
                .title("Many")
                .category("tests")
                .tags("many,values")
                .purpose("to test")
                .scenarios("tests")
                .deprecated("use nothing")
                .icons(R"([{"src": "https://example.org/a.png"}])")
                .result_description("the values")
                .example(R"({"a": true, "b": 1, "c": 2, "d": 3, "e": 4, "f": 6, "g": 6, "h": 7,
                             "i": 8, "j": 9, "l": "x", "m": "", "n": "one", "o": [], "p": "km"})");

double divide(tr::call &call, double dividend, double divisor) {
    call.log(TR_LOG_INFO, "dividing");
    if (divisor == 0) {
        throw tr::error(TR_INVALID_ARGUMENTS, "divisor", "must not be 0");
    }
    if (divisor < 0) {
        throw std::out_of_range("the divisor is below 0");
    }
    if (dividend < 0) {
        throw 42;
    }
    return dividend / divisor;
}
constexpr auto divide_tool =
        tr::tool<divide>("cxx_divide", "Divide two numbers.",
                         tr::param("dividend", "what is divided"), tr::param("divisor", "by what"))
                .example(R"({"dividend": 6, "divisor": 3})", "2")
                .example(R"({"dividend": 1, "divisor": 7})");

std::string joined(bool by_zero) {
    return {by_zero ? "a\0b" : "a b", 3};
}
constexpr auto joined_tool = tr::tool<joined>("cxx_joined", "Join two letters, for tests.",
                                              tr::param("by_zero", "so that C would cut the text"))
                                     .example(R"({"by_zero": false})", R"("a b")");

void nothing() {
}
constexpr auto nothing_tool = tr::tool<nothing>("cxx_nothing", "Do nothing, for tests.")
                                      .permission(TR_SAFE)
                                      .example("{}", "null");

std::string opened_as;

tr_status reads(tr::call &call) {
    if (call.get("fails", false)) {
        throw tr::error("it fails as it was told");
    }
    call.progress(1, 2, "half");
    return call.reply_json(R"({"text": ")" + std::string(call.get("text", "none")) +
                           R"(", "sum": )" +
                           std::to_string(call.get("i", 1) +
                                          static_cast<std::int64_t>(call.get("u", UINT64_C(2))) +
                                          static_cast<std::int64_t>(call.get("d", 0.5) * 2)) +
                           R"(, "opened": ")" + opened_as + R"(", "cancelled": )" +
                           (call.cancelled() ? "true" : "false") + "}");
}
constexpr auto reads_tool =
        tr::json_tool<reads>("cxx_reads", "Read arguments one by one, for tests.", R"({
            "type": "object", "properties": {
                "text": {"type": "string", "description": "a text"},
                "i": {"type": "integer", "description": "an addend"},
                "u": {"type": "integer", "description": "an addend"},
                "d": {"type": "number", "description": "added twice"},
                "fails": {"type": "boolean", "description": "whether to fail"}}})")
                .result_schema(R"({"type": "object", "required": ["sum"]})")
                .example(R"({"text": "a"})");

void says(tr::call &call) {
    (void)call.reply(call.arguments());
}
constexpr auto says_tool = tr::json_tool<says>("cxx_says", "Return the text of all arguments.",
                                               R"({"type": "object"})")
                                   .example("{}", R"("{}")");

void open_it(tr::host &host) {
    opened_as = host.config("name", "nameless");
    if (opened_as == "wrong") {
        throw std::invalid_argument("the name is wrong");
    }
    host.log(TR_LOG_DEBUG, "opened");
}

void close_it() {
    opened_as.clear();
}

} // namespace

TR_PLUGIN(tr::plugin("test.cxx_layer", "2.0.0")
                  .description("Every type of the C++ layer")
                  .vendor("toolrack")
                  .license("MIT")
                  .homepage("https://example.org")
                  .flags(TR_THREAD_SAFE)
                  .reads("${workspace}")
                  .reads_env("LANG")
                  .open<open_it>()
                  .close<close_it>(),
          same_place_tool, backwards_tool, many_tool, divide_tool, joined_tool, nothing_tool,
          reads_tool, says_tool)
