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

_toolrack_models() {
    toolrack "${globals[@]}" models 2>/dev/null </dev/null | awk 'NR > 1 { print $1 }'
}

_toolrack_packages() {
    toolrack "${globals[@]}" packages 2>/dev/null </dev/null | awk 'NR > 1 { print $1 }'
}

_toolrack_reply() {
    mapfile -t COMPREPLY < <(compgen "$@")
}

_toolrack() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local globals verb verb_at options='--config --state --plugins --require-sandbox --safe-mode --no-daemon --json --color --no-pager --verbose --help --version'
    _toolrack_globals
    COMPREPLY=()

    case $prev in
        --config | --transcript | --junit | --settings | --output | --key | --password-file)
            compopt -o filenames
            _toolrack_reply -f -- "$cur"
            return
            ;;
        --state | --plugins)
            compopt -o filenames
            _toolrack_reply -d -- "$cur"
            return
            ;;
        --level)
            _toolrack_reply -W 'note warning error' -- "$cur"
            return
            ;;
        --format)
            _toolrack_reply -W 'openai openai-responses anthropic gemini ollama mcp' -- "$cur"
            return
            ;;
        --install | --print-config)
            _toolrack_reply -W 'claude-desktop claude-code cline cursor gemini-cli lm-studio opencode vscode windsurf zed' -- "$cur"
            return
            ;;
        --trust)
            _toolrack_reply -W 'official community' -- "$cur"
            return
            ;;
        --lang)
            _toolrack_reply -W 'c c++ rust' -- "$cur"
            return
            ;;
        --color)
            _toolrack_reply -W 'auto always never' -- "$cur"
            return
            ;;
        --in-state)
            _toolrack_reply -W 'listed loaded failed stuck quarantined changed left-out needs disabled kept shared refused' -- "$cur"
            return
            ;;
        --exit)
            _toolrack_reply -W 'ok failed NotFound Disabled InvalidArguments PermissionDenied ConfirmationRequired ExecutionFailed Timeout Cancelled LimitExceeded' -- "$cur"
            return
            ;;
        --only)
            _toolrack_reply -W "$(toolrack test --list 2>/dev/null | cut -d ' ' -f 1)" -- "$cur"
            return
            ;;
        --tool)
            _toolrack_reply -W "$(_toolrack_tools)" -- "$cur"
            return
            ;;
        --model)
            _toolrack_reply -W "$(_toolrack_models)" -- "$cur"
            return
            ;;
        --plugin | --tag | --category | --purpose | --scenario | --arg | --timeout | --for | --allow | --caller | --since | --task | --limit | --budget | --conversation | --trace | --call | --crash | --why | --endpoint | --max-steps | --max-result | --system | --profile | --expires | --rate | --owner | --listen | --ids | --name | --seed | --runs | --grant | --build | --function | --decide) return ;;
    esac
    if [[ -z $verb ]]; then
        _toolrack_reply -W 'list show call export answer agent models enable disable priority default grant revoke grants allow disallow approvals token tasks plan run runs select search recommend feedback blacklist whitelist plugins why release reload rollback install update uninstall packages index adopt watch serve status hosts mcp log decisions statistics check dev test pack sign verify keys new bind version help
            --config --state --plugins --require-sandbox --safe-mode --no-daemon --json --color --no-pager --verbose --help --version' -- "$cur"
        return
    fi
    case $verb in
        list) options+=' --all --plugin --in-state --tag --category --purpose --scenario' ;;
        show) options+=' --schema' ;;
        why) options+=' --crash' ;;
        call) options+=' --arg --timeout --yes --caller --conversation --trace --debug' ;;
        export) options+=' --format --allow --profile --limit --budget --disabled --explain' ;;
        answer) options+=' --format --allow --profile --limit --budget --caller --conversation --timeout --yes' ;;
        default) options+=' --plugin --reset' ;;
        agent) options+=' --endpoint --model --format --header --query --parameter --max-steps --max-wait --max-result --plan --quiet --allow --profile --limit --budget --system --transcript --resume --continue --list --forget' ;;
        grant) options+=' --for' ;;
        approvals) options+=' --caller' ;;
        token) options+=' --admin --profile --expires --rate --tool --approves' ;;
        tasks | runs) options+=' --owner' ;;
        run) options+=' --input --dry-run --graph --watch --yes --resume --repeat --skip' ;;
        log) options+=' --tool --caller --conversation --trace --exit --errors --since --limit --follow' ;;
        decisions) options+=' --tool --plugin --since --limit' ;;
        serve) options+=' --listen --socket --profile --nats --group --name' ;;
        hosts) options+=' --nats --group --first --calls --yes' ;;
        mcp) options+=' --profile --install --print-config' ;;
        plan) options+=' --context --caller' ;;
        check) options+=' --level --allow --sarif --explain' ;;
        select) options+=' --explain --limit --call --context --caller --timeout --yes --forget' ;;
        search) options+=' --limit --explain --packages --index' ;;
        install) options+=' --index --yes --dry-run --unsigned' ;;
        update) options+=' --index --yes --dry-run' ;;
        index) options+=' --for' ;;
        recommend) options+=' --task --limit --explain' ;;
        feedback) options+=' --call --select --tool' ;;
        blacklist | whitelist) options+=' --why' ;;
        new) options+=' --lang --json-tool --resources' ;;
        bind) options+=' --function --header --include --decide --debuginfod --output' ;;
        pack) options+=' --output' ;;
        sign) options+=' --key --password-file' ;;
        verify) options+=' --key' ;;
        keys) options+=' --trust --ids --name --password-file --no-password' ;;
        dev) options+=' --build --install --timeout' ;;
        test) options+=' --seed --runs --only --list --timeout --grant --allow-dangerous --settings --junit' ;;
    esac
    if [[ $cur == -* ]]; then
        _toolrack_reply -W "$options" -- "$cur"
    elif [[ $verb == answer || $verb == install || $verb == index || $verb == run || $verb == sign || $verb == verify ]]; then
        compopt -o filenames
        _toolrack_reply -f -- "$cur"
    elif [[ $verb == pack || $verb == dev ]]; then
        compopt -o filenames
        _toolrack_reply -d -- "$cur"
    elif [[ $verb == test ]]; then
        compopt -o filenames
        _toolrack_reply -d -- "$cur"
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X '!*.so' -- "$cur")
    elif [[ $verb == check ]]; then
        compopt -o filenames
        _toolrack_reply -d -- "$cur"
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X '!*.@(so|json)' -- "$cur")
    elif ((COMP_CWORD == verb_at + 1)); then
        case $verb in
            list | show | call | enable | disable | priority | default | grant | revoke | allow | disallow | feedback | why | release | reload | rollback | statistics) _toolrack_reply -W "$(_toolrack_tools)" -- "$cur" ;;
            update | uninstall) _toolrack_reply -W "$(_toolrack_packages)" -- "$cur" ;;
            token) _toolrack_reply -W 'list add revoke' -- "$cur" ;;
            tasks | runs) _toolrack_reply -W 'list show cancel remove' -- "$cur" ;;
            keys) _toolrack_reply -W 'list new add remove' -- "$cur" ;;
            approvals) _toolrack_reply -W 'allow always conversation deny' -- "$cur" ;;
            help) _toolrack_reply -W 'list show call export answer agent models enable disable priority default grant revoke grants allow disallow approvals token tasks plan run runs select search recommend feedback blacklist whitelist plugins why release reload rollback install update uninstall packages index adopt watch mcp log decisions statistics check dev test pack sign verify keys new bind version' -- "$cur" ;;
            blacklist | whitelist) _toolrack_reply -W 'list add remove' -- "$cur" ;;
        esac
    elif ((COMP_CWORD == verb_at + 2)); then
        case $verb in
            feedback) _toolrack_reply -W 'good bad' -- "$cur" ;;
            blacklist | whitelist) _toolrack_reply -W "$(_toolrack_tools)" -- "$cur" ;;
        esac
    fi
}

complete -F _toolrack toolrack
