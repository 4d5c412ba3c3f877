#include "cli/cli.h"

int cli_exit_of(int code) {
    switch (code) {
    case TOOLRACK_OK: return CLI_OK;
    case TOOLRACK_E_NOT_FOUND: return CLI_NOT_FOUND;
    case TOOLRACK_E_INVALID_ARGUMENTS: return CLI_ARGUMENTS;
    case TOOLRACK_E_DISABLED:
    case TOOLRACK_E_PERMISSION_DENIED:
    case TOOLRACK_E_CONFIRMATION_REQUIRED: return CLI_DENIED;
    case TOOLRACK_E_TIMEOUT: return CLI_TIMEOUT;
    case TOOLRACK_E_EXECUTION_FAILED: return CLI_TOOL;
    default: return CLI_FAILED;
    }
}
