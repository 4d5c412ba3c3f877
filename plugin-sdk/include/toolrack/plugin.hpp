// toolrack/plugin.hpp - plugins in C++17: the types of a tool are those of its function.
//
//     #include <toolrack/plugin.hpp>
//
//     static double divide(double dividend, double divisor) {
//         return dividend / divisor;
//     }
//     constexpr auto divide_tool =
//             tr::tool<divide>("divide", "Divide two numbers", tr::param("dividend", "what is
//             divided"),
//                              tr::param("divisor", "by what").exclusive_minimum("0"))
//                     .flags(TR_READ_ONLY | TR_IDEMPOTENT);
//     TR_PLUGIN(tr::plugin("math", "1.0.0").license("MIT"), divide_tool)
//
//     c++ -std=c++17 -shared -fPIC -fvisibility=hidden -fno-gnu-unique math.cpp -o math.so
//
// A layer over toolrack/plugin.h, which is the reference: it fills the same constant data, and
// nothing is linked. What a function throws fails its call: tr::error with its code and field, any
// other exception with what it says. Values are copied between the C types of the call and those of
// the function, so nothing in a result has to outlive the function.
//
//   function has            JSON                           in plugin.h
//   bool, integers, float,  true or false, a number        TR_BOOL to TR_F64, by size and sign
//   double
//   std::string, _view,     string                         TR_STRING
//   const char *
//   tr::json                any value                      TR_JSON
//   std::vector<std::byte>  base64 string                  TR_BYTES
//   std::vector<T>          array                          TR_ARRAY
//   std::optional<T>        absent or null, or a T         TR_OPTIONAL
//   a class, an enumeration object, string                 TR_STRUCT, TR_ENUM: TR_DEFINE_STRUCT,
//                                                          TR_DEFINE_ENUM below
//
// Licence: MIT; usable in closed plugins. C++17 and later, with exceptions.
#ifndef TOOLRACK_PLUGIN_HPP
#define TOOLRACK_PLUGIN_HPP

#include <toolrack/plugin.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// What is seen outside, above all a variable of a template, keeps a library from being unloaded.
#if defined(__GNUC__)
#define TR_HIDDEN_ __attribute__((visibility("hidden")))
#else
#define TR_HIDDEN_
#endif

namespace tr TR_HIDDEN_ {

/// Fails the call, or open(). Thrown by a tool as it would return tr_fail().
class error : public std::runtime_error {
  public:
    explicit error(const std::string &message) : error(TR_FAILED, "", message) {
    }
    /// `field`: the path of the argument at fault; empty: none.
    error(tr_status code, std::string field, const std::string &message)
        : std::runtime_error(message), code_(code), field_(std::move(field)) {
    }
    tr_status code() const noexcept {
        return code_;
    }
    const char *field() const noexcept {
        return field_.empty() ? nullptr : field_.c_str();
    }

  private:
    tr_status code_;
    std::string field_;
};

/// Any JSON value, as text.
struct json {
    std::string text;
};

// ------------------------------------------------------------------------- while a tool runs

/// One call in progress. A tool that needs it takes a `tr::call &` as its first parameter. What is
/// not here is reached with the functions of plugin.h: `tr_ask(call.get(), ...)`. [call-thread]
class call {
  public:
    explicit call(tr_call *given) noexcept : call_(given) {
    }
    tr_call *get() const noexcept {
        return call_;
    }

    /// All arguments as one JSON object; lives as long as the call, as all views here do.
    std::string_view arguments() const {
        uint64_t length = 0;
        const char *text = call_->api->arguments(call_, &length);
        return {text, static_cast<std::size_t>(length)};
    }
    bool get(const char *path, bool fallback) const {
        return tr_get_bool(call_, path, fallback);
    }
    int64_t get(const char *path, int64_t fallback) const {
        return tr_get_i64(call_, path, fallback);
    }
    int64_t get(const char *path, int fallback) const {
        return tr_get_i64(call_, path, fallback);
    }
    uint64_t get(const char *path, uint64_t fallback) const {
        return tr_get_u64(call_, path, fallback);
    }
    double get(const char *path, double fallback) const {
        return tr_get_f64(call_, path, fallback);
    }
    std::string_view get(const char *path, std::string_view fallback) const {
        const char *text = nullptr;
        uint64_t length = 0;
        return call_->api->get_string(call_, path, &text, &length) == TR_OK
                       ? std::string_view(text, static_cast<std::size_t>(length))
                       : fallback;
    }
    std::string_view get(const char *path, const char *fallback) const {
        return get(path, std::string_view(fallback));
    }

    /// Replies of a JSON tool; each returns what the tool may return.
    tr_status reply(std::string_view text) const {
        return call_->api->reply_text(call_, text.data(), text.size());
    }
    tr_status reply_json(std::string_view text) const {
        return call_->api->reply_json(call_, text.data(), text.size());
    }

    void progress(double done, double total, const char *message = nullptr) const {
        tr_progress(call_, done, total, message);
    }
    void log(tr_log_level level, const std::string &line) const {
        call_->api->log(call_, level, line.c_str());
    }
    bool cancelled() const {
        return tr_cancelled(call_);
    }

  private:
    tr_call *call_;
};

/// The host's side of a plugin, in open(). [plugin]
class host {
  public:
    explicit host(tr_host *given) noexcept : host_(given) {
    }
    tr_host *get() const noexcept {
        return host_;
    }
    /// A setting of this plugin: a string unchanged, any other value as JSON. Lives as long as
    /// open().
    std::string_view config(const char *path, const char *fallback = "") const {
        return tr_host_config(host_, path, fallback);
    }
    void log(tr_log_level level, const std::string &line) const {
        host_->api->log(host_, level, line.c_str());
    }

  private:
    tr_host *host_;
};

// --------------------------------------------------------------------------------- parameters

/// A parameter, or a field of a struct: its name, what it means, and what bounds it. Where struct
/// tr_param has JSON, the text of a JSON value is given: `.minimum("0.5")`, `.standard("\"km\"")`.
class param {
    tr_param param_;

    template <class T> constexpr param with(T tr_param::*member, T value) const {
        param changed = *this;
        changed.param_.*member = value;
        return changed;
    }

  public:
    constexpr param(const char *name, const char *description) : param_{} {
        param_.name = name;
        param_.description = description;
    }
    /// The value of an argument that is absent.
    constexpr param standard(const char *value) const {
        return with(&tr_param::default_json, value);
    }
    /// A JSON array: the only values allowed.
    constexpr param choices(const char *values) const {
        return with(&tr_param::choices_json, values);
    }
    constexpr param minimum(const char *bound) const {
        return with(&tr_param::minimum_json, bound);
    }
    constexpr param maximum(const char *bound) const {
        return with(&tr_param::maximum_json, bound);
    }
    constexpr param exclusive_minimum(const char *bound) const {
        return with(&tr_param::exclusive_minimum_json, bound);
    }
    constexpr param exclusive_maximum(const char *bound) const {
        return with(&tr_param::exclusive_maximum_json, bound);
    }
    constexpr param multiple_of(const char *number) const {
        return with(&tr_param::multiple_of_json, number);
    }
    constexpr param lengths(uint64_t least, uint64_t most) const {
        return with(&tr_param::min_length, least).with(&tr_param::max_length, most);
    }
    constexpr param items(uint64_t least, uint64_t most) const {
        return with(&tr_param::min_items, least).with(&tr_param::max_items, most);
    }
    constexpr param pattern(const char *expression) const {
        return with(&tr_param::pattern, expression);
    }
    constexpr param format(const char *name) const {
        return with(&tr_param::format, name);
    }
    constexpr param unique_items() const {
        return with(&tr_param::flags, static_cast<uint32_t>(TR_PARAM_UNIQUE_ITEMS));
    }
    /// As plugin.h has it.
    constexpr tr_param make(const tr_type *type, uint64_t offset) const {
        tr_param made = param_;
        made.type = type;
        made.offset = offset;
        return made;
    }
};

/// A field: the member that has it, and what a parameter has.
template <class S, class M> struct TR_HIDDEN_ field_of {
    M S::*member;
    param about;
};

template <class S, class M> constexpr field_of<S, M> field(M S::*member, const param &about) {
    return {member, about};
}

template <class S, class M>
constexpr field_of<S, M> field(M S::*member, const char *name, const char *description) {
    return {member, param(name, description)};
}

template <class E> constexpr tr_choice choice(const char *name, E value) {
    return {name, static_cast<int64_t>(value)};
}

/// What TR_DEFINE_STRUCT() and TR_DEFINE_ENUM() say of a type.
template <class T> struct TR_HIDDEN_ described;

/// Describe a class, whose members are read and written one by one, so that it may have any:
///
///     struct place { std::string name; double longitude, latitude; };
///     TR_DEFINE_STRUCT(place, tr::field(&place::name, "name", "of the place"), ...)
///
/// Outside every namespace, as the next one.
#define TR_DEFINE_STRUCT(type_, ...)                                 \
    template <> struct TR_HIDDEN_ tr::described<type_> {             \
        static constexpr auto fields = std::make_tuple(__VA_ARGS__); \
    };

/// Describe an enumeration: `TR_DEFINE_ENUM(unit, tr::choice("km", unit::kilometre), ...)`
#define TR_DEFINE_ENUM(type_, ...)                            \
    template <> struct TR_HIDDEN_ tr::described<type_> {      \
        static constexpr tr_choice choices[] = {__VA_ARGS__}; \
    };

// -------------------------------------------------------------------------------------- types

namespace detail {

template <class... T> struct TR_HIDDEN_ list {};

template <class... L> struct TR_HIDDEN_ joined;
template <class... A> struct TR_HIDDEN_ joined<list<A...>> { using type = list<A...>; };
template <> struct TR_HIDDEN_ joined<> { using type = list<>; };
template <class... A, class... B, class... More>
struct TR_HIDDEN_ joined<list<A...>, list<B...>, More...> {
    using type = typename joined<list<A..., B...>, More...>::type;
};

constexpr tr_type plain_type(tr_kind kind, std::size_t width) {
    tr_type made{};
    made.size = sizeof(tr_type);
    made.kind = kind;
    made.width = static_cast<uint32_t>(width);
    return made;
}

constexpr tr_type with_flag(tr_type made, tr_type_flags flag) {
    made.flags |= static_cast<uint32_t>(flag);
    return made;
}

/// Memory of the call, for what a result points to.
inline void *keep(tr_call *call, const void *data, std::size_t size) {
    void *memory = tr_alloc(call, size);
    if (memory == nullptr) {
        throw error(TR_LIMIT_EXCEEDED, "", "the result takes more memory than a call may use");
    }
    if (data != nullptr && size > 0) {
        std::memcpy(memory, data, size);
    }
    return memory;
}

/// How a C++ type is in C. `stored` is what stands in a struct, in an array or as result; take()
/// makes the C++ value of it, give() the other way round.
template <class T, class = void> struct TR_HIDDEN_ type {
    static_assert(!std::is_same_v<T, T>,
                  "toolrack: no JSON is known for this type; the list at the top of plugin.hpp has "
                  "those that are, and TR_DEFINE_STRUCT and TR_DEFINE_ENUM add to them");
};

constexpr tr_kind kind_of_number(bool is_real, bool is_signed, std::size_t size) {
    return is_real     ? (size == 4 ? TR_KIND_F32 : TR_KIND_F64)
           : is_signed ? (size == 1   ? TR_KIND_I8
                          : size == 2 ? TR_KIND_I16
                          : size == 4 ? TR_KIND_I32
                                      : TR_KIND_I64)
                       : (size == 1   ? TR_KIND_U8
                          : size == 2 ? TR_KIND_U16
                          : size == 4 ? TR_KIND_U32
                                      : TR_KIND_U64);
}

template <class T> constexpr bool is_number() {
    return (std::is_integral_v<T> || std::is_same_v<T, float> ||
            std::is_same_v<T, double>)&&!std::is_same_v<T, char> &&
           !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> &&
           !std::is_same_v<T, char32_t>;
}

template <class T> struct TR_HIDDEN_ type<T, std::enable_if_t<is_number<T>()>> {
    using stored = T;
    static constexpr tr_type info =
            plain_type(std::is_same_v<T, bool> ? TR_KIND_BOOL
                                               : kind_of_number(std::is_floating_point_v<T>,
                                                                std::is_signed_v<T>, sizeof(T)),
                       sizeof(T));
    static T take(const stored &value) {
        return value;
    }
    static stored give(tr_call *, const T &value) {
        return value;
    }
};

template <class T> struct TR_HIDDEN_ type<T, std::enable_if_t<std::is_enum_v<T>>> {
    using stored = T;
    static constexpr tr_type make() {
        tr_type made = plain_type(TR_KIND_ENUM, sizeof(T));
        made.choices = described<T>::choices;
        made.choice_count = sizeof described<T>::choices / sizeof(tr_choice);
        made.choice_size = sizeof(tr_choice);
        return made;
    }
    static constexpr tr_type info = make();
    static T take(const stored &value) {
        return value;
    }
    static stored give(tr_call *, const T &value) {
        return value;
    }
};

/// What is a zero-terminated text in C. No value is NULL.
template <class T, tr_kind Kind> struct TR_HIDDEN_ text_type {
    using stored = const char *;
    static constexpr tr_type info = plain_type(Kind, 0);
    static T take(const stored &value) {
        return T{value};
    }
    static stored copy(tr_call *call, std::string_view text) {
        if (text.find('\0') != text.npos) {
            throw error(TR_FAILED, "",
                        "a text of the result has a zero character in it, which C takes "
                        "for its end; leave it out, or return std::vector<std::byte>");
        }
        auto *copied = static_cast<char *>(keep(call, nullptr, text.size() + 1));
        text.copy(copied, text.size());
        copied[text.size()] = '\0';
        return copied;
    }
};

template <> struct TR_HIDDEN_ type<std::string> : text_type<std::string, TR_KIND_STRING> {
    static stored give(tr_call *call, const std::string &value) {
        return copy(call, value);
    }
};
template <> struct TR_HIDDEN_ type<std::string_view> : text_type<std::string_view, TR_KIND_STRING> {
    static stored give(tr_call *call, std::string_view value) {
        return copy(call, value);
    }
};
template <> struct TR_HIDDEN_ type<const char *> : text_type<const char *, TR_KIND_STRING> {
    static stored give(tr_call *call, const char *value) {
        return copy(call, value);
    }
};
template <> struct TR_HIDDEN_ type<json> : text_type<json, TR_KIND_JSON> {
    static stored give(tr_call *call, const json &value) {
        return copy(call, value.text);
    }
};

template <> struct TR_HIDDEN_ type<std::vector<std::byte>> {
    using stored = tr_bytes;
    static constexpr tr_type info = plain_type(TR_KIND_BYTES, 0);
    static std::vector<std::byte> take(const stored &value) {
        const auto *data = static_cast<const std::byte *>(value.data);
        return {data, data + value.size};
    }
    static stored give(tr_call *call, const std::vector<std::byte> &value) {
        return {keep(call, value.data(), value.size()), value.size()};
    }
};

template <class T> struct TR_HIDDEN_ type<std::vector<T>> {
    using stored = tr_array;
    using item = typename type<T>::stored;
    static constexpr tr_type make() {
        tr_type made = plain_type(TR_KIND_ARRAY, 0);
        made.item = &type<T>::info;
        return made;
    }
    static constexpr tr_type info = make();
    static std::vector<T> take(const stored &value) {
        const auto *items = static_cast<const item *>(value.items);
        std::vector<T> taken;
        taken.reserve(static_cast<std::size_t>(value.count));
        for (uint64_t i = 0; i < value.count; i++) {
            taken.push_back(type<T>::take(items[i]));
        }
        return taken;
    }
    static stored give(tr_call *call, const std::vector<T> &value) {
        auto *items = static_cast<item *>(keep(call, nullptr, value.size() * sizeof(item)));
        for (std::size_t i = 0; i < value.size(); i++) {
            items[i] = type<T>::give(call, value[i]);
        }
        return {items, value.size()};
    }
};

/// Whether a C type is a pointer that is NULL where there is no value, so that no other is needed.
template <class T> constexpr bool is_empty(const T &) {
    return false;
}
inline bool is_empty(const char *const &text) {
    return text == nullptr;
}
inline bool is_empty(const tr_bytes &bytes) {
    return bytes.data == nullptr;
}
inline bool is_empty(const tr_array &array) {
    return array.items == nullptr;
}
template <class C>
constexpr bool has_null = std::is_same_v<C, const char *> || std::is_same_v<C, tr_bytes> ||
                          std::is_same_v<C, tr_array>;

template <class T>
struct TR_HIDDEN_ type<std::optional<T>, std::enable_if_t<has_null<typename type<T>::stored>>> {
    using stored = typename type<T>::stored;
    static constexpr tr_type info = with_flag(type<T>::info, TR_TYPE_OPTIONAL);
    static std::optional<T> take(const stored &value) {
        return is_empty(value) ? std::nullopt : std::optional<T>(type<T>::take(value));
    }
    static stored give(tr_call *call, const std::optional<T> &value) {
        return value ? type<T>::give(call, *value) : stored{};
    }
};

template <class T>
struct TR_HIDDEN_ type<std::optional<T>, std::enable_if_t<!has_null<typename type<T>::stored>>> {
    using pointed = typename type<T>::stored;
    using stored = const pointed *;
    static constexpr tr_type info = with_flag(type<T>::info, TR_TYPE_OPTIONAL);
    static std::optional<T> take(const stored &value) {
        return value == nullptr ? std::nullopt : std::optional<T>(type<T>::take(*value));
    }
    static stored give(tr_call *call, const std::optional<T> &value) {
        if (!value) {
            return nullptr;
        }
        const pointed given = type<T>::give(call, *value);
        return static_cast<stored>(keep(call, &given, sizeof given));
    }
};

/// A C struct of the fields of a class, laid out as a compiler would.
template <std::size_t Size, std::size_t Alignment> struct TR_HIDDEN_ record {
    alignas(Alignment) unsigned char bytes[Size];
};

template <class Fields> struct TR_HIDDEN_ layout;
template <class... S, class... M> struct TR_HIDDEN_ layout<std::tuple<field_of<S, M>...>> {
    static constexpr std::size_t count = sizeof...(M);
    static constexpr std::size_t sizes[count] = {sizeof(typename type<M>::stored)...};
    static constexpr std::size_t alignments[count] = {alignof(typename type<M>::stored)...};
    static constexpr const tr_type *types[count] = {&type<M>::info...};
    static constexpr std::size_t up(std::size_t at, std::size_t alignment) {
        return (at + alignment - 1) / alignment * alignment;
    }
    static constexpr std::size_t alignment() {
        std::size_t most = 1;
        for (std::size_t each : alignments) {
            most = each > most ? each : most;
        }
        return most;
    }
    /// Where a field begins; that of `count`: the size.
    static constexpr std::size_t offset(std::size_t field) {
        std::size_t at = 0;
        for (std::size_t i = 0; i < field; i++) {
            at = up(at, alignments[i]) + sizes[i];
        }
        return up(at, field < count ? alignments[field] : alignment());
    }
};

template <class T> struct TR_HIDDEN_ type<T, std::void_t<decltype(described<T>::fields)>> {
    static constexpr const auto &fields = described<T>::fields;
    using place = layout<std::decay_t<decltype(described<T>::fields)>>;
    using stored = record<place::offset(place::count), place::alignment()>;
    using indexes = std::make_index_sequence<place::count>;

    template <std::size_t... I>
    static constexpr std::array<tr_param, place::count> make_params(std::index_sequence<I...>) {
        return {std::get<I>(described<T>::fields).about.make(place::types[I], place::offset(I))...};
    }
    static constexpr std::array<tr_param, place::count> params = make_params(indexes{});
    static constexpr tr_type make() {
        tr_type made = plain_type(TR_KIND_STRUCT, sizeof(stored));
        made.fields = params.data();
        made.field_count = static_cast<uint32_t>(place::count);
        made.field_size = sizeof(tr_param);
        return made;
    }
    static constexpr tr_type info = make();

    template <std::size_t I> static void take_field(T &ret, const stored &from) {
        auto T::*member = std::get<I>(described<T>::fields).member;
        using M = std::decay_t<decltype(ret.*member)>;
        typename type<M>::stored value;
        std::memcpy(&value, from.bytes + place::offset(I), sizeof value);
        ret.*member = type<M>::take(value);
    }
    template <std::size_t I> static void give_field(tr_call *call, const T &from, stored &ret) {
        auto T::*member = std::get<I>(described<T>::fields).member;
        using M = std::decay_t<decltype(from.*member)>;
        const typename type<M>::stored value = type<M>::give(call, from.*member);
        std::memcpy(ret.bytes + place::offset(I), &value, sizeof value);
    }
    template <std::size_t... I> static T take_all(const stored &from, std::index_sequence<I...>) {
        T taken{};
        (take_field<I>(taken, from), ...);
        return taken;
    }
    template <std::size_t... I>
    static stored give_all(tr_call *call, const T &from, std::index_sequence<I...>) {
        stored given{};
        (give_field<I>(call, from, given), ...);
        return given;
    }
    static T take(const stored &value) {
        return take_all(value, indexes{});
    }
    static stored give(tr_call *call, const T &value) {
        return give_all(call, value, indexes{});
    }
};

template <class C> constexpr bool is_record = false;
template <std::size_t S, std::size_t A> constexpr bool is_record<record<S, A>> = true;

/// As a parameter and as result. A record is passed by pointer: its C type has no fields for the
/// compiler, so it would pass it otherwise than a struct.
template <class T, class C = typename type<T>::stored> struct TR_HIDDEN_ passed {
    using flat = list<C>;
    using result = C;
    static constexpr const tr_type &info = type<T>::info;
    static T take(C value) {
        return type<T>::take(value);
    }
    static result give(tr_call *call, const T &value) {
        return type<T>::give(call, value);
    }
};
template <class T, std::size_t S, std::size_t A> struct TR_HIDDEN_ passed<T, record<S, A>> {
    using flat = list<const record<S, A> *>;
    using result = const record<S, A> *;
    static constexpr tr_type info = with_flag(type<T>::info, TR_TYPE_BY_POINTER);
    static T take(const record<S, A> *value) {
        return type<T>::take(*value);
    }
    static result give(tr_call *call, const T &value) {
        const record<S, A> given = type<T>::give(call, value);
        return static_cast<result>(keep(call, &given, sizeof given));
    }
};
template <class T> struct TR_HIDDEN_ passed<T, tr_bytes> {
    using flat = list<const void *, std::size_t>;
    using result = tr_bytes;
    static constexpr const tr_type &info = type<T>::info;
    static T take(const void *data, std::size_t size) {
        return type<T>::take(tr_bytes{data, size});
    }
    static result give(tr_call *call, const T &value) {
        return type<T>::give(call, value);
    }
};
template <class T> struct TR_HIDDEN_ passed<T, tr_array> {
    using flat = list<const void *, std::size_t>;
    using result = tr_array;
    static constexpr const tr_type &info = type<T>::info;
    static T take(const void *items, std::size_t count) {
        return type<T>::take(tr_array{items, count});
    }
    static result give(tr_call *call, const T &value) {
        return type<T>::give(call, value);
    }
};

// ------------------------------------------------------------------------------------- calling

/// Run the body; what it throws fails the call.
template <class R, class Body> R guarded(tr_call *call, R failed, Body body) noexcept {
    try {
        return body();
    } catch (const error &thrown) {
        (void)(call->api->fail)(call, thrown.code(), thrown.field(), thrown.what());
    } catch (const std::exception &thrown) {
        (void)(call->api->fail)(call, TR_FAILED, nullptr, thrown.what());
    } catch (...) {
        (void)(call->api->fail)(call, TR_FAILED, nullptr,
                                "something was thrown that is no exception");
    }
    return failed;
}

/// What a function is: its result, its arguments without a leading tr::call &, and whether it has
/// one.
template <class F> struct TR_HIDDEN_ signature;
template <class R, class... A> struct TR_HIDDEN_ signature<R (*)(A...)> {
    using result = R;
    using arguments = list<std::decay_t<A>...>;
    static constexpr bool takes_call = false;
};
template <class R, class... A> struct TR_HIDDEN_ signature<R (*)(call &, A...)> {
    using result = R;
    using arguments = list<std::decay_t<A>...>;
    static constexpr bool takes_call = true;
};
template <class R, class... A>
struct TR_HIDDEN_ signature<R (*)(A...) noexcept> : signature<R (*)(A...)> {};

template <class R> struct TR_HIDDEN_ result_of {
    using c = typename passed<R>::result;
    static constexpr const tr_type *info = &passed<R>::info;
};
template <> struct TR_HIDDEN_ result_of<void> {
    using c = void;
    static constexpr const tr_type *info = nullptr;
};

/// The C function that the host calls for a C++ function.
template <auto F, class Arguments, class Flat> struct TR_HIDDEN_ entry;
template <auto F, class... A, class... C> struct TR_HIDDEN_ entry<F, list<A...>, list<C...>> {
    using result = typename signature<decltype(F)>::result;
    using c = typename result_of<std::decay_t<result>>::c;

    /// How many C parameters stand before an argument.
    static constexpr std::size_t first(std::size_t argument) {
        constexpr std::size_t widths[] = {
                std::tuple_size_v<decltype(tuple(
                        static_cast<typename passed<A>::flat *>(nullptr)))>...,
                0};
        std::size_t at = 0;
        for (std::size_t i = 0; i < argument; i++) {
            at += widths[i];
        }
        return at;
    }
    template <class... T> static std::tuple<T...> tuple(list<T...> *);

    template <class T, std::size_t At, class... V>
    static T take(const std::tuple<C...> &given, list<V...> *) {
        return take<T, At>(given, std::index_sequence_for<V...>{});
    }
    template <class T, std::size_t At, std::size_t... I>
    static T take(const std::tuple<C...> &given, std::index_sequence<I...>) {
        return passed<T>::take(std::get<At + I>(given)...);
    }
    template <std::size_t... I>
    static result invoke(call &called, const std::tuple<C...> &given, std::index_sequence<I...>) {
        if constexpr (signature<decltype(F)>::takes_call) {
            return F(called,
                     take<A, first(I)>(given, static_cast<typename passed<A>::flat *>(nullptr))...);
        } else {
            (void)called;
            return F(take<A, first(I)>(given, static_cast<typename passed<A>::flat *>(nullptr))...);
        }
    }
    static c run(tr_call *given, C... values) noexcept {
        call called(given);
        const std::tuple<C...> all(values...);
        if constexpr (std::is_void_v<result>) {
            (void)guarded(given, 0, [&] {
                invoke(called, all, std::index_sequence_for<A...>{});
                return 0;
            });
        } else {
            return guarded(given, c{}, [&] {
                return passed<std::decay_t<result>>::give(
                        given, invoke(called, all, std::index_sequence_for<A...>{}));
            });
        }
    }
};

template <auto F> struct TR_HIDDEN_ json_entry {
    static tr_status run(tr_call *given) noexcept {
        return guarded(given, static_cast<tr_status>(TR_FAILED), [&]() -> tr_status {
            call called(given);
            if constexpr (std::is_void_v<decltype(F(called))>) {
                F(called);
                return TR_OK;
            } else {
                return F(called);
            }
        });
    }
};

constexpr tr_type call_type = plain_type(TR_KIND_CALL, 0);

template <class Arguments> struct TR_HIDDEN_ flat_of;
template <class... A> struct TR_HIDDEN_ flat_of<list<A...>> {
    using type = typename joined<typename passed<A>::flat...>::type;
    static constexpr std::size_t count = sizeof...(A);
    static constexpr std::array<const tr_type *, count + 1> types = {&call_type,
                                                                     &passed<A>::info...};
};

} // namespace detail

// -------------------------------------------------------------------------------------- tools

/// What is said of a tool beside its function; made by tool() and json_tool().
template <auto F, std::size_t Count> class TR_HIDDEN_ tool_of {
    tr_tool tool_;
    std::array<param, Count> params_;
    std::array<tr_example, 16> examples_;

    template <class T> constexpr tool_of with(T tr_tool::*member, T value) const {
        tool_of changed = *this;
        changed.tool_.*member = value;
        return changed;
    }

  public:
    static constexpr std::decay_t<decltype(F)> function = F;
    static constexpr std::size_t count = Count;

    constexpr tool_of(const char *name, const char *description, const char *schema,
                      const std::array<param, Count> &params)
        : tool_{}, params_(params), examples_{} {
        tool_.size = sizeof(tr_tool);
        tool_.name = name;
        tool_.description = description;
        tool_.schema = schema;
    }
    /// enum tr_tool_flags
    constexpr tool_of flags(int flags) const {
        return with(&tr_tool::flags, static_cast<uint32_t>(flags));
    }
    constexpr tool_of permission(tr_permission permission) const {
        return with(&tr_tool::permission, static_cast<uint32_t>(permission));
    }
    constexpr tool_of priority(int32_t priority) const {
        return with(&tr_tool::priority, priority);
    }
    constexpr tool_of deadline_ms(uint32_t deadline) const {
        return with(&tr_tool::deadline_ms, deadline);
    }
    constexpr tool_of version(const char *version) const {
        return with(&tr_tool::version, version);
    }
    constexpr tool_of title(const char *title) const {
        return with(&tr_tool::title, title);
    }
    constexpr tool_of category(const char *category) const {
        return with(&tr_tool::category, category);
    }
    constexpr tool_of tags(const char *tags) const {
        return with(&tr_tool::tags, tags);
    }
    constexpr tool_of purpose(const char *purpose) const {
        return with(&tr_tool::purpose, purpose);
    }
    constexpr tool_of scenarios(const char *scenarios) const {
        return with(&tr_tool::scenarios, scenarios);
    }
    constexpr tool_of deprecated(const char *instead) const {
        return with(&tr_tool::deprecated, instead);
    }
    constexpr tool_of icons(const char *icons) const {
        return with(&tr_tool::icons, icons);
    }
    constexpr tool_of result_description(const char *description) const {
        return with(&tr_tool::result_description, description);
    }
    /// JSON tools: the schema of the reply.
    constexpr tool_of result_schema(const char *schema) const {
        return with(&tr_tool::result_schema, schema);
    }
    /// The texts of an object and of a value; without a result the call must only succeed.
    constexpr tool_of example(const char *arguments, const char *result = nullptr) const {
        tool_of changed = *this;
        changed.examples_[changed.tool_.example_count++] = {arguments, result};
        return changed;
    }

    constexpr const tr_tool &said() const {
        return tool_;
    }
    constexpr const param &about(std::size_t index) const {
        return params_[index];
    }
    constexpr const tr_example &example_at(std::size_t index) const {
        return examples_[index];
    }
};

/// A typed tool: any function, its name for models, what it does and when to use it, and what each
/// of its parameters means, in their order.
template <auto F, class... P>
constexpr auto tool(const char *name, const char *description, const P &...params) {
    using flat = detail::flat_of<typename detail::signature<decltype(F)>::arguments>;
    static_assert(sizeof...(P) == flat::count,
                  "toolrack: the tool has another number of parameters than its function");
    return tool_of<F, sizeof...(P)>(name, description, nullptr,
                                    std::array<param, sizeof...(P)>{params...});
}

/// A JSON tool: a function of tr::call & that reads its arguments and replies, and the JSON Schema
/// of the arguments.
template <auto F>
constexpr auto json_tool(const char *name, const char *description, const char *schema) {
    return tool_of<F, 0>(name, description, schema, std::array<param, 0>{});
}

/// What is said of the plugin.
class plugin {
    tr_plugin plugin_;
    std::array<tr_capability, 16> capabilities_;

    template <void (*F)(host &)> static tr_status opened(tr_host *given) {
        try {
            host opening(given);
            F(opening);
            return TR_OK;
        } catch (const std::exception &thrown) {
            return (given->api->fail)(given, thrown.what());
        } catch (...) {
            return (given->api->fail)(given, "something was thrown that is no exception");
        }
    }
    template <void (*F)()> static void closed() noexcept {
        F();
    }
    template <class T> constexpr plugin with(T tr_plugin::*member, T value) const {
        plugin changed = *this;
        changed.plugin_.*member = value;
        return changed;
    }
    constexpr plugin needs(tr_capability_kind kind, const char *value) const {
        plugin changed = *this;
        changed.capabilities_[changed.plugin_.capability_count++] = {static_cast<uint32_t>(kind), 0,
                                                                     value};
        return changed;
    }

  public:
    constexpr plugin(const char *id, const char *version) : plugin_{}, capabilities_{} {
        plugin_.magic = TR_MAGIC;
        plugin_.size = sizeof(tr_plugin);
        plugin_.abi_major = TR_ABI_MAJOR;
        plugin_.abi_minor = TR_ABI_MINOR;
        plugin_.id = id;
        plugin_.version = version;
    }
    /// enum tr_plugin_flags
    constexpr plugin flags(int flags) const {
        return with(&tr_plugin::flags, static_cast<uint32_t>(flags));
    }
    constexpr plugin description(const char *line) const {
        return with(&tr_plugin::description, line);
    }
    constexpr plugin vendor(const char *vendor) const {
        return with(&tr_plugin::vendor, vendor);
    }
    constexpr plugin license(const char *expression) const {
        return with(&tr_plugin::license, expression);
    }
    constexpr plugin homepage(const char *url) const {
        return with(&tr_plugin::homepage, url);
    }
    /// The capabilities that it needs of the system, at most 16.
    constexpr plugin reads(const char *path) const {
        return needs(TR_CAP_READ, path);
    }
    constexpr plugin writes(const char *path) const {
        return needs(TR_CAP_WRITE, path);
    }
    constexpr plugin connects(const char *host) const {
        return needs(TR_CAP_NETWORK, host);
    }
    constexpr plugin spawns(const char *program) const {
        return needs(TR_CAP_SPAWN, program);
    }
    constexpr plugin reads_env(const char *name) const {
        return needs(TR_CAP_ENV, name);
    }
    /// `void f(tr::host &)`: what it throws refuses to open. [plugin]
    template <void (*F)(host &)> constexpr plugin open() const {
        return with(&tr_plugin::open, &opened<F>);
    }
    /// [plugin]
    template <void (*F)()> constexpr plugin close() const {
        return with(&tr_plugin::close, static_cast<void (*)()>(&closed<F>));
    }
    /// `const void *f(const char *id)`, as plugin.h has it. [plugin]
    constexpr plugin extensions(const void *(*get)(const char *id)) const {
        return with(&tr_plugin::get_extension, get);
    }

    constexpr const tr_plugin &said() const {
        return plugin_;
    }
    constexpr const tr_capability &capability(std::size_t index) const {
        return capabilities_[index];
    }
};

// --------------------------------------------------------------------------- the constant data

namespace detail {

/// What the data of both kinds of tool has.
template <const auto &Said> struct TR_HIDDEN_ example_data {
    static constexpr std::size_t count = Said.said().example_count;
    template <std::size_t... I>
    static constexpr std::array<tr_example, count + 1> make(std::index_sequence<I...>) {
        return {Said.example_at(I)...};
    }
    static constexpr auto examples = make(std::make_index_sequence<count>{});
    static constexpr const tr_example *first = count > 0 ? examples.data() : nullptr;
};

template <const auto &Said, bool IsTyped = (Said.said().schema == nullptr)>
struct TR_HIDDEN_ tool_data {
    static constexpr tr_tool make() {
        tr_tool made = Said.said();
        made.run = &json_entry<std::decay_t<decltype(Said)>::function>::run;
        made.examples = example_data<Said>::first;
        made.example_size = sizeof(tr_example);
        return made;
    }
    static constexpr tr_tool tool = make();
};

template <const auto &Said> struct TR_HIDDEN_ tool_data<Said, true> {
    using said = std::decay_t<decltype(Said)>;
    using function = signature<std::decay_t<decltype(said::function)>>;
    using flat = flat_of<typename function::arguments>;
    using called = entry<said::function, typename function::arguments, typename flat::type>;

    template <std::size_t... I>
    static constexpr std::array<tr_param, said::count + 1> make_params(std::index_sequence<I...>) {
        return {param("call", nullptr).make(flat::types[0], 0),
                Said.about(I).make(flat::types[I + 1], 0)...};
    }
    static constexpr auto params = make_params(std::make_index_sequence<said::count>{});
    static constexpr const tr_tool &t = Said.said();
    static const tr_tool tool;
};

/// Not constexpr for one reason: no constant expression of C++ casts a function. Compilers write
/// the data without code all the same, and `toolrack check` would see if one did not.
template <const auto &Said>
const tr_tool tool_data<Said, true>::tool = {
        t.size,
        t.flags,
        t.name,
        t.description,
        t.version,
        t.title,
        t.category,
        t.tags,
        t.permission,
        t.priority,
        t.deadline_ms,
        static_cast<uint32_t>(said::count + 1),
        params.data(),
        sizeof(tr_param),
        0,
        result_of<std::decay_t<typename function::result>>::info,
        t.result_description,
        reinterpret_cast<void (*)()>(&called::run),
        nullptr,
        nullptr,
        nullptr,
        example_data<Said>::first,
        t.example_count,
        sizeof(tr_example),
        t.deprecated,
        t.purpose,
        t.scenarios,
        t.icons};

template <const auto &Said, const auto &...Tools> struct TR_HIDDEN_ plugin_data {
    static constexpr std::size_t capabilities_made = Said.said().capability_count;
    template <std::size_t... I>
    static constexpr std::array<tr_capability, capabilities_made + 1> make_capabilities(
            std::index_sequence<I...>) {
        return {Said.capability(I)...};
    }
    static constexpr auto capabilities =
            make_capabilities(std::make_index_sequence<capabilities_made>{});
    static constexpr const tr_tool *tools[] = {&tool_data<Tools>::tool...};

    static constexpr tr_plugin make() {
        tr_plugin made = Said.said();
        made.capabilities = capabilities_made > 0 ? capabilities.data() : nullptr;
        made.capability_size = sizeof(tr_capability);
        made.tools = tools;
        made.tool_count = sizeof...(Tools);
        made.tool_size = sizeof(tr_tool);
        return made;
    }
};

} // namespace detail
} // namespace TR_HIDDEN_

/// The plugin, and its tools, at least one: names of constexpr variables outside functions. Used
/// once in a plugin, outside every namespace.
#define TR_PLUGIN(plugin_, ...)                               \
    static constexpr tr::plugin tr_said_of_plugin_ = plugin_; \
    constexpr tr_plugin toolrack_plugin =                     \
            tr::detail::plugin_data<tr_said_of_plugin_, __VA_ARGS__>::make();

#endif // TOOLRACK_PLUGIN_HPP
