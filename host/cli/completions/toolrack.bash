# bash completion for toolrack(1)

# The words of the line that `list` needs to see the same tools: the global options.
_toolrack_globals() {
    local i
    globals=() verb='' verb_at=${#COMP_WORDS[@]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --config | --state | --plugins)
                globals+=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]/#\~/$HOME}")
                ((i++))
                ;;
            -*) ;;
            *)
                verb=${COMP_WORDS[i]} verb_at=$i
                return
                ;;
        esac
    done
}

_toolrack_tools() {
    toolrack "${globals[@]}" list --all 2>/dev/null </dev/null |
        awk '$1 ~ /^[A-Za-z_][A-Za-z0-9_-]*$/ && $1 != "NAME" { print $1 }'
}

_toolrack_reply() {
    mapfile -t COMPREPLY < <(compgen "$@")
}

_toolrack() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local globals verb verb_at options='--config --state --plugins --require-sandbox --safe-mode --json --verbose --help'
    _toolrack_globals
    COMPREPLY=()

    case $prev in
        --config | --transcript)
            compopt -o filenames
            _toolrack_reply -f -- "$cur"
            return
            ;;
        --state | --plugins)
            compopt -o filenames
            _toolrack_reply -d -- "$cur"
            return
            ;;
        --format)
            _toolrack_reply -W 'openai openai-responses anthropic gemini ollama mcp' -- "$cur"
            return
            ;;
        --tag | --category | --arg | --timeout | --for | --caller | --conversation | --endpoint | --model | --max-steps | --system | --allow | --limit | --budget) return ;;
    esac
    if [[ -z $verb ]]; then
        _toolrack_reply -W 'list show call answer agent export enable disable priority grant revoke grants approvals why release reload rollback watch check version help
            --config --state --plugins --require-sandbox --safe-mode --json --verbose --help' -- "$cur"
        return
    fi
    case $verb in
        list) options+=' --all --tag --category' ;;
        call) options+=' --arg --timeout --yes' ;;
        answer) options+=' --format --caller --conversation --timeout --yes' ;;
        agent) options+=' --endpoint --model --format --max-steps --system --transcript' ;;
        export) options+=' --format --allow --limit --budget --explain' ;;
        grant) options+=' --for' ;;
    esac
    if [[ $cur == -* ]]; then
        _toolrack_reply -W "$options" -- "$cur"
    elif [[ $verb == answer ]]; then
        compopt -o filenames
        _toolrack_reply -f -- "$cur"
    elif [[ $verb == check ]]; then
        compopt -o filenames
        _toolrack_reply -d -- "$cur"
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X '!*.so' -- "$cur")
    elif ((COMP_CWORD == verb_at + 1)); then
        case $verb in
            show | call | enable | disable | priority | grant | revoke | why | release | reload | rollback) _toolrack_reply -W "$(_toolrack_tools)" -- "$cur" ;;
            approvals) _toolrack_reply -W 'allow always conversation deny' -- "$cur" ;;
            help) _toolrack_reply -W 'list show call answer agent export enable disable priority grant revoke grants approvals why release reload rollback watch check version' -- "$cur" ;;
        esac
    fi
}

complete -F _toolrack toolrack
