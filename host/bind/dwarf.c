/* Functions and types from debug information (DWARF), in the library or in a separate file: libdwfl
 * finds those of a build id and of .gnu_debuglink.
 *
 * An exported name may be another name of a function that has a name of its own, as in libm, where
 * the function of "pow" is __pow: then the address says which it is. Where the loader chooses among
 * several (IFUNC), the address is that of the choice, and the name without underscores decides. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bind/elfutils.h"
#include "bind/model.h"

enum rank {
    RANK_NONE,
    RANK_DECLARATION, /* somebody calls a function of that name */
    RANK_LIKE,        /* a function whose name has more underscores */
    RANK_ADDRESS,     /* the function at the symbol's address */
    RANK_NAME         /* ... that has its name */
};

struct reading {
    struct model *model;
    struct model_symbol **by_address;
    bool failed; /* out of memory */
};

static void *allocate(struct reading *reading, size_t size) {
    void *memory = arena_zalloc(reading->model->arena, size);
    reading->failed = reading->failed || memory == NULL;
    return memory;
}

static const char *keep(struct reading *reading, const char *text) {
    const char *kept = text == NULL ? NULL : model_keep(reading->model, text);
    reading->failed = reading->failed || (text != NULL && kept == NULL);
    return kept;
}

/* ------------------------------------------------------------------- values */

static bool die_of(Dwarf_Die *die, unsigned name, Dwarf_Die *ret) {
    Dwarf_Attribute attribute;
    return elfutils.dwarf_attr_integrate(die, name, &attribute) != NULL &&
           elfutils.dwarf_formref_die(&attribute, ret) != NULL;
}

static bool number_of(Dwarf_Die *die, unsigned name, uint64_t *ret) {
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (elfutils.dwarf_attr_integrate(die, name, &attribute) == NULL ||
        elfutils.dwarf_formudata(&attribute, &word) != 0) {
        return false;
    }
    *ret = word;
    return true;
}

static bool flag_of(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    bool is_set = false;
    return elfutils.dwarf_attr(die, name, &attribute) != NULL &&
           elfutils.dwarf_formflag(&attribute, &is_set) == 0 && is_set;
}

/* -------------------------------------------------------------------- types */

static const struct model_type *read_type(struct reading *reading, Dwarf_Die *die, unsigned depth);

/* The type that a DIE names; none is void. */
static const struct model_type *read_type_of(struct reading *reading, Dwarf_Die *die,
                                             unsigned depth) {
    Dwarf_Die type;
    if (die_of(die, DW_AT_type, &type)) {
        return read_type(reading, &type, depth);
    }
    struct model_type *nothing = allocate(reading, sizeof *nothing);
    if (nothing != NULL) {
        nothing->spelling = "void";
    }
    return nothing;
}

static void read_base(Dwarf_Die *die, struct model_type *type) {
    uint64_t encoding = 0;
    (void)number_of(die, DW_AT_encoding, &encoding);
    switch (encoding) {
    case DW_ATE_boolean: type->kind = MODEL_BOOL; break;
    case DW_ATE_float: type->kind = MODEL_FLOAT; break;
    case DW_ATE_signed:
    case DW_ATE_signed_char:
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF: type->kind = MODEL_INTEGER; break;
    default: type->kind = MODEL_OTHER; break;
    }
    type->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    type->is_character = type->size == 1 && strcmp(type->spelling, "char") == 0;
    if (type->size > 8 || (type->kind == MODEL_FLOAT && type->size < 4)) {
        type->kind = MODEL_OTHER;
    }
}

/* Whether a parameter is a reference to that struct. */
static bool is_reference_to(Dwarf_Die *param, const char *struct_name) {
    Dwarf_Die type;
    int tag =
            elfutils.dwarf_tag(param) == DW_TAG_formal_parameter && die_of(param, DW_AT_type, &type)
                    ? elfutils.dwarf_tag(&type)
                    : 0;
    if ((tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type) ||
        !die_of(&type, DW_AT_type, &type)) {
        return false;
    }
    if (elfutils.dwarf_tag(&type) == DW_TAG_const_type && !die_of(&type, DW_AT_type, &type)) {
        return false;
    }
    const char *name = elfutils.dwarf_diename(&type);
    return name != NULL && strcmp(name, struct_name) == 0;
}

/* Whether a function of a struct of C++ is a destructor or makes copies. Then the address of such a
 * struct is passed, in place of it. */
static bool has_own_copies(Dwarf_Die *function, const char *struct_name) {
    const char *name = elfutils.dwarf_diename(function);
    uint64_t defaulted = DW_DEFAULTED_no;
    Dwarf_Die param;
    (void)number_of(function, DW_AT_defaulted, &defaulted);
    if (name == NULL || defaulted == DW_DEFAULTED_in_class ||
        flag_of(function, DW_AT_artificial)) { /* as its fields have it */
        return false;
    }
    if (name[0] == '~') {
        return true;
    }
    if (strcmp(name, struct_name) != 0 || elfutils.dwarf_child(function, &param) != 0) {
        return false;
    }
    do {
        if (is_reference_to(&param, struct_name)) {
            return true;
        }
    } while (elfutils.dwarf_siblingof(&param, &param) == 0);
    return false;
}

/* What a struct of C++ inherits is in it as its own fields are.
 * @return false: not all of it can be told */
static bool add_inherited(struct reading *reading, Dwarf_Die *die, struct model_type *type,
                          struct model_field *fields, unsigned depth) {
    uint64_t offset = 0;
    const struct model_type *base = read_type_of(reading, die, depth + 1);
    if (base == NULL || base->kind != MODEL_STRUCT ||
        !number_of(die, DW_AT_data_member_location, &offset)) {
        return false;
    }
    bool is_whole = !base->is_packed;
    for (uint32_t i = 0; i < base->field_count; i++) {
        if (type->field_count == MODEL_FIELDS_MAX) {
            return false;
        }
        fields[type->field_count] = base->fields[i];
        fields[type->field_count++].offset += offset;
    }
    return is_whole;
}

static void read_fields(struct reading *reading, Dwarf_Die *die, struct model_type *type,
                        unsigned depth) {
    Dwarf_Die child;
    type->kind = MODEL_OTHER;
    if (depth >= MODEL_DEPTH_SHALLOW || flag_of(die, DW_AT_declaration) ||
        elfutils.dwarf_child(die, &child) != 0) {
        return;
    }
    struct model_field *fields = allocate(reading, MODEL_FIELDS_MAX * sizeof *fields);
    if (fields == NULL) {
        return;
    }
    type->kind = MODEL_STRUCT;
    do {
        uint64_t offset = 0;
        int tag = elfutils.dwarf_tag(&child);
        if (tag == DW_TAG_inheritance && !add_inherited(reading, &child, type, fields, depth)) {
            type->is_packed = true;
        } else if (tag == DW_TAG_subprogram && has_own_copies(&child, type->spelling)) {
            type->is_packed = true;
        }
        if (tag != DW_TAG_member) {
            continue;
        }
        if (type->field_count == MODEL_FIELDS_MAX) {
            type->kind = MODEL_OTHER;
            break;
        }
        const char *name = elfutils.dwarf_diename(&child);
        if (name == NULL || elfutils.dwarf_hasattr(&child, DW_AT_bit_size) ||
            !number_of(&child, DW_AT_data_member_location, &offset)) {
            type->is_packed = true;
            continue;
        }
        struct model_field *field = &fields[type->field_count++];
        field->name = keep(reading, name);
        field->offset = offset;
        field->type = read_type_of(reading, &child, depth + 1);
    } while (elfutils.dwarf_siblingof(&child, &child) == 0);
    type->fields = fields;
}

static void read_choices(struct reading *reading, Dwarf_Die *die, struct model_type *type) {
    Dwarf_Die child;
    type->kind = MODEL_OTHER;
    if (elfutils.dwarf_child(die, &child) != 0) {
        return;
    }
    struct model_choice *choices = allocate(reading, MODEL_NAMES_MAX * sizeof *choices);
    if (choices == NULL) {
        return;
    }
    do {
        /* Of DW_FORM_data1 and its like only gcc knows whether they are signed. It writes negative
         * numbers as DW_FORM_sdata, which is extended here too. */
        uint64_t value = 0;
        if (elfutils.dwarf_tag(&child) == DW_TAG_enumerator &&
            type->choice_count < MODEL_NAMES_MAX && number_of(&child, DW_AT_const_value, &value)) {
            choices[type->choice_count].name = keep(reading, elfutils.dwarf_diename(&child));
            choices[type->choice_count++].value = (int64_t)value;
        }
    } while (elfutils.dwarf_siblingof(&child, &child) == 0);
    type->kind = type->choice_count > 0 ? MODEL_ENUM : MODEL_OTHER;
    type->choices = choices;
}

static uint64_t array_count(Dwarf_Die *die) {
    Dwarf_Die child;
    uint64_t count = 0;
    uint64_t dimensions = 0;
    if (elfutils.dwarf_child(die, &child) != 0) {
        return 0;
    }
    do {
        uint64_t bound = 0;
        if (elfutils.dwarf_tag(&child) == DW_TAG_subrange_type) {
            dimensions++;
            count = number_of(&child, DW_AT_count, &bound)         ? bound
                    : number_of(&child, DW_AT_upper_bound, &bound) ? bound + 1
                                                                   : 0;
        }
    } while (elfutils.dwarf_siblingof(&child, &child) == 0);
    return dimensions == 1 ? count : 0;
}

static const char *spell(struct reading *reading, const char *before, const char *name,
                         const char *after) {
    const char *text = arena_printf(reading->model->arena, "%s%s%s", before, name, after);
    reading->failed = reading->failed || text == NULL;
    return text != NULL ? text : "";
}

/* typedef and const: the type below, spelled as it is called here. */
static const struct model_type *read_wrapped(struct reading *reading, Dwarf_Die *die, int tag,
                                             unsigned depth) {
    const struct model_type *below = read_type_of(reading, die, depth);
    struct model_type *type = allocate(reading, sizeof *type);
    if (below == NULL || type == NULL) {
        return NULL;
    }
    *type = *below;
    if (tag == DW_TAG_const_type) {
        type->is_const = true;
        type->spelling = type->kind == MODEL_POINTER ? spell(reading, "", type->spelling, "const")
                                                     : spell(reading, "const ", type->spelling, "");
    } else if (tag == DW_TAG_typedef && elfutils.dwarf_diename(die) != NULL) {
        type->spelling = keep(reading, elfutils.dwarf_diename(die));
    }
    return type;
}

static const struct model_type *read_type(struct reading *reading, Dwarf_Die *die, unsigned depth) {
    int tag = elfutils.dwarf_tag(die);
    uint64_t size = 0;
    struct model_type *type = allocate(reading, sizeof *type);
    const char *name = elfutils.dwarf_diename(die);
    if (type == NULL) {
        return NULL;
    }
    type->kind = MODEL_OTHER;
    type->spelling = name != NULL ? keep(reading, name) : "a type without a name";
    if (depth > MODEL_DEPTH_MAX || reading->failed) {
        return type;
    }
    if (number_of(die, DW_AT_byte_size, &size) && size <= UINT32_MAX) {
        type->size = (uint32_t)size;
    }
    switch (tag) {
    case DW_TAG_base_type: read_base(die, type); break;
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type: return read_wrapped(reading, die, tag, depth + 1);
    case DW_TAG_pointer_type:
        type->kind = MODEL_POINTER;
        type->size = sizeof(void *);
        type->target = read_type_of(reading, die, model_depth_below(depth));
        type->spelling =
                type->target == NULL ? "" : spell(reading, "", type->target->spelling, " *");
        break;
    case DW_TAG_structure_type:
        read_fields(reading, die, type, depth);
        type->spelling = name != NULL ? spell(reading, "struct ", type->spelling, "") : "struct";
        break;
    case DW_TAG_union_type:
        type->is_union = true;
        type->spelling = name != NULL ? spell(reading, "union ", type->spelling, "") : "union";
        break;
    case DW_TAG_enumeration_type:
        read_choices(reading, die, type);
        type->spelling = name != NULL ? spell(reading, "enum ", type->spelling, "") : "enum";
        break;
    case DW_TAG_array_type:
        type->kind = MODEL_ARRAY;
        type->count = array_count(die);
        type->target = read_type_of(reading, die, depth + 1);
        type->spelling =
                type->target == NULL ? "" : spell(reading, "", type->target->spelling, " []");
        break;
    case DW_TAG_subroutine_type: type->spelling = "a function"; break;
    default: break;
    }
    return type;
}

/* ---------------------------------------------------------------- functions */

static void read_function(struct reading *reading, Dwarf_Die *die, struct model_function *ret) {
    struct model_param *params = allocate(reading, MODEL_PARAMS_MAX * sizeof *params);
    Dwarf_Die child;
    if (params == NULL) {
        return;
    }
    ret->params = params;
    ret->param_count = 0;
    ret->is_variadic = false;
    ret->result = read_type_of(reading, die, 0);
    if (elfutils.dwarf_child(die, &child) != 0) {
        return;
    }
    do {
        int tag = elfutils.dwarf_tag(&child);
        if (tag == DW_TAG_unspecified_parameters ||
            (tag == DW_TAG_formal_parameter && ret->param_count == MODEL_PARAMS_MAX)) {
            ret->is_variadic = true;
        } else if (tag == DW_TAG_formal_parameter) {
            struct model_param *param = &params[ret->param_count++];
            Dwarf_Attribute name;
            bool is_named = elfutils.dwarf_attr_integrate(&child, DW_AT_name, &name) != NULL;
            param->name = is_named ? keep(reading, elfutils.dwarf_formstring(&name)) : NULL;
            param->type = read_type_of(reading, &child, 0);
        }
    } while (elfutils.dwarf_siblingof(&child, &child) == 0);
}

static void take(struct reading *reading, Dwarf_Die *die, struct model_symbol *symbol,
                 enum rank rank) {
    if (symbol != NULL && symbol->is_read && symbol->function.rank < rank) {
        symbol->function.rank = rank;
        read_function(reading, die, &symbol->function);
    }
}

static int compare_addresses(const void *left, const void *right) {
    const struct model_symbol *one = *(struct model_symbol *const *)left;
    const struct model_symbol *other = *(struct model_symbol *const *)right;
    return one->address < other->address ? -1 : one->address > other->address;
}

/* Each symbol at an address: a function may be exported by several names. */
static void take_at(struct reading *reading, Dwarf_Die *die, uint64_t address) {
    size_t low = 0;
    size_t high = reading->model->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reading->by_address[middle]->address < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < reading->model->symbol_count && reading->by_address[low]->address == address;
         low++) {
        if (!reading->by_address[low]->is_chosen) {
            take(reading, die, reading->by_address[low], RANK_ADDRESS);
        }
    }
}

static void take_subprogram(struct reading *reading, Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    Dwarf_Addr address = 0;
    const char *name = elfutils.dwarf_attr_integrate(die, DW_AT_name, &attribute) != NULL
                               ? elfutils.dwarf_formstring(&attribute)
                               : NULL;
    bool has_code = elfutils.dwarf_entrypc(die, &address) == 0 && address != 0;
    if (name == NULL || (!has_code && !flag_of(die, DW_AT_prototyped))) {
        return;
    }
    const char *plain = name + strspn(name, "_");
    struct model_symbol *symbol = model_find(reading->model, name);
    if (has_code) {
        /* A static function may have the name of an exported one. */
        bool is_it = symbol != NULL && !symbol->is_chosen &&
                     (symbol->address == address || elfutils.dwarf_hasattr(die, DW_AT_external));
        take(reading, die, is_it ? symbol : NULL, RANK_NAME);
        take_at(reading, die, address);
    } else {
        take(reading, die, symbol, RANK_DECLARATION);
    }
    symbol = plain != name ? model_find(reading->model, plain) : NULL;
    if (symbol != NULL && !(symbol->is_chosen && address == symbol->address)) {
        take(reading, die, symbol, RANK_LIKE);
    }
}

static void read_unit(struct reading *reading, Dwarf_Die *unit) {
    Dwarf_Die child;
    if (elfutils.dwarf_child(unit, &child) != 0) {
        return;
    }
    do {
        if (elfutils.dwarf_tag(&child) == DW_TAG_subprogram) {
            take_subprogram(reading, &child);
        }
    } while (!reading->failed && elfutils.dwarf_siblingof(&child, &child) == 0);
}

int dwarf_read(struct model *model, struct toolrack_error *err) {
    static char *no_path; /* the usual ones: beside the file, .debug/, /usr/lib/debug */
    const Dwfl_Callbacks callbacks = {.find_elf = elfutils.dwfl_build_id_find_elf,
                                      .find_debuginfo = elfutils.dwfl_standard_find_debuginfo,
                                      .section_address = elfutils.dwfl_offline_section_address,
                                      .debuginfo_path = &no_path};
    struct reading reading = {.model = model};
    reading.by_address = allocate(&reading, model->symbol_count * sizeof(struct model_symbol *));
    Dwfl *dwfl = elfutils.dwfl_begin(&callbacks);
    if (dwfl == NULL || reading.by_address == NULL) {
        elfutils.dwfl_end(dwfl);
        return error_oom(err);
    }
    for (size_t i = 0; i < model->symbol_count; i++) {
        reading.by_address[i] = &model->symbols[i];
    }
    qsort(reading.by_address, model->symbol_count, sizeof(struct model_symbol *),
          compare_addresses);
    Dwfl_Module *module = elfutils.dwfl_report_offline(dwfl, "library", model->file, -1);
    (void)elfutils.dwfl_report_end(dwfl, NULL, NULL);
    Dwarf_Addr bias = 0;
    int code = 0;
    if (module == NULL || elfutils.dwfl_module_getdwarf(module, &bias) == NULL) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND,
                         "%s has no debug information (%s): install the package of its debug "
                         "symbols (-dbg or -dbgsym), ask a server with --debuginfod, or give its "
                         "header with --header",
                         model->file, elfutils.dwfl_errmsg(-1));
    }
    Dwarf_Die *unit = NULL;
    while (code == 0 && !reading.failed &&
           (unit = elfutils.dwfl_module_nextcu(module, unit, &bias)) != NULL) {
        read_unit(&reading, unit);
    }
    elfutils.dwfl_end(dwfl);
    return reading.failed ? error_oom(err) : code;
}
