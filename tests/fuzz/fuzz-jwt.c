/* A JSON Web Token of any bytes: what is read of it is whole, and no token is for an audience or of
 * an issuer that it does not name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct jwt jwt;
    char *text = malloc(size + (size == 0));
    require(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    if (jwt_read(text, size, &jwt) == NULL) {
        require(jwt.algorithm != NULL && strcmp(jwt.algorithm, "none") != 0 &&
                strncmp(jwt.algorithm, "HS", 2) != 0);
        require(jwt.key_type != NULL && size <= JWT_LENGTH_MAX);
        struct jwt_rules rules = {.issuer = "https://login.example.org",
                                  .audience = "https://tools.example.org/mcp",
                                  .now_s = 1000,
                                  .skew_s = 60};
        bool holds = jwt_check(&jwt, &rules) == NULL;
        require(!holds || (jwt_subject(&jwt)[0] != '\0' && jwt_expires_s(&jwt) > 1000 - 60 - 1));
        rules.now_s = INT32_MAX;
        rules.issuer = "https://evil.example.org";
        require(!holds || jwt_check(&jwt, &rules) != NULL);
        (void)jwt_has_scope(&jwt, "toolrack:safe");
    }
    jwt_finish(&jwt);
    free(text);
    return 0;
}
