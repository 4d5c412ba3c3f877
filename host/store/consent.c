#include "store/consent.h"

#include "store/database.h"

static int check(const struct store_pin *pins, size_t count, const struct store_grant *grant,
                 const struct store_approval *approval, struct toolrack_error *err) {
    int code = grant != NULL ? grant_check(grant, err) : 0;
    if (code == 0 && approval != NULL) {
        code = approval_check(approval, err);
    }
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = pin_check(&pins[i], err);
    }
    return code;
}

static int put_all(struct store *store, const struct store_pin *pins, size_t count,
                   const struct store_grant *grant, const struct store_approval *approval,
                   struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = pin_put(store, &pins[i], err);
    }
    if (code == 0 && grant != NULL) {
        code = grant_put(store, grant, err);
    }
    return code == 0 && approval != NULL ? approval_put(store, approval, err) : code;
}

int store_consent(struct store *store, const struct store_pin *pins, size_t pin_count,
                  const struct store_grant *grant, const struct store_approval *approval,
                  struct toolrack_error *err) {
    int code = check(pins, pin_count, grant, approval, err);
    if (code < 0) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE, err);
    if (code == 0) {
        code = put_all(store, pins, pin_count, grant, approval, err);
    }
    return database_end(store, code, err);
}

/* Rows of one tool, of all its versions or of one. */
#define OF_SELECTOR "(?1 = tool OR ?1 = tool || '@' || version)"

static int withdraw(struct store *store, const char *selector, int64_t now_s,
                    struct toolrack_error *err) {
    const struct value *values = VALUES(value_text(selector));
    int granted = grant_remove(store, selector, now_s, err);
    if (granted < 0 && granted != TOOLRACK_E_NOT_FOUND) {
        return granted;
    }
    int code = database_run(store, "DELETE FROM approvals WHERE " OF_SELECTOR, values, err);
    if (code == 0 && granted < 0 && database_changes(store) == 0) {
        return granted; /* with what grant_remove() said */
    }
    return code < 0 ? code
                    : database_run(store, "DELETE FROM pins WHERE " OF_SELECTOR, values, err);
}

int store_withdraw(struct store *store, const char *selector, int64_t now_s,
                   struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, err);
    if (code == 0) {
        code = withdraw(store, selector, now_s, err);
    }
    return database_end(store, code, err);
}
