# fish completion for toolrack(1)

# The global options already typed, so that `list` sees the same tools.
function __toolrack_globals
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --config --state --plugins
                set -q words[2]; and printf '%s\n' $words[1] (string replace -r '^~' $HOME -- $words[2])
                set -e words[1]
        end
        set -e words[1]
    end
end

function __toolrack_tools
    toolrack (__toolrack_globals) list --all 2>/dev/null </dev/null |
        string match -r -g '^([A-Za-z_][A-Za-z0-9_-]*) ' | string match -v NAME
end

set -l verbs list show call export answer agent enable disable priority default grant revoke grants allow disallow approvals token tasks recommend feedback blacklist whitelist plugins why release reload rollback adopt watch mcp log decisions statistics check version help

complete -c toolrack -f
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -l config -r -F -d 'Read this configuration'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -l state -r -a '(__fish_complete_directories)' -d 'Keep state in this folder'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -l plugins -r -a '(__fish_complete_directories)' -d 'Look for plugins only here'
complete -c toolrack -l json -d 'Print JSON'
complete -c toolrack -l safe-mode -d 'Look only at installed plugins'
complete -c toolrack -l require-sandbox -d 'Fail rather than run in less than the whole sandbox'
complete -c toolrack -l verbose -d 'Say what happens'
complete -c toolrack -l help -d 'Print help'
complete -c toolrack -l version -d 'Print the version'
complete -c toolrack -l color -x -a 'auto always never' -d 'Emphasize headings and states'
complete -c toolrack -l no-pager -d 'Print long output at once'

complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a list -d 'List the tools, highest priority first'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a show -d 'Show a tool\'s details'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a call -d 'Call a tool and print its result'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a answer -d 'Execute the calls of a model\'s message'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a export -d 'Print the tool definitions in a provider\'s format'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a enable -d 'Enable a tool'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a agent -d 'Let a model work on a task with the tools'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a disable -d 'Disable a tool'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a priority -d 'Set a tool\'s priority; higher comes first'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a default -d 'Set or show the default version of a tool'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a grant -d 'Allow a dangerous or confirm tool to run'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a revoke -d 'Withdraw grants and approvals'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a grants -d 'List grants and approvals'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a allow -d 'Let a plugin use files, network or programs'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a disallow -d 'Take what a plugin was allowed'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a approvals -d 'List the calls that wait for approval, or answer one'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a recommend -d 'List the tools with the best record'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a feedback -d 'Record feedback on a tool'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a token -d 'List or change the tokens of clients'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a tasks -d 'List or cancel the tasks of clients'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a blacklist -d 'List or change the tools that are never recommended'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a whitelist -d 'List or change the tools that are recommended first'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a plugins -d 'List the plugins'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a decisions -d 'List the decisions about calls and tools'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a why -d 'Explain a plugin\'s state'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a release -d 'Release a plugin from quarantine'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a reload -d 'Load changed plugin files'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a rollback -d 'Return to the previous content of a plugin\'s file'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a adopt -d 'Say that a file is the plugin that came from another folder'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a watch -d 'Reload plugins when their files change'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a mcp -d 'Serve MCP on standard input and output'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a check -d 'Find problems in a plugin or in toolrack.json'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a log -d 'List the calls in the log'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a statistics -d 'Show statistics of the calls'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a check -d 'Find problems in a plugin or in toolrack.json'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a version -d 'Print the version'
complete -c toolrack -n "not __fish_seen_subcommand_from $verbs" -a help -d 'Print help'

complete -c toolrack -n '__fish_seen_subcommand_from list' -l all -d 'Also disabled and refused ones'
complete -c toolrack -n '__fish_seen_subcommand_from list' -l plugin -x -d 'Only of this plugin'
complete -c toolrack -n '__fish_seen_subcommand_from list' -l in-state -x -a 'listed loaded failed stuck quarantined changed left-out disabled kept shared refused' -d 'Only in this state'
complete -c toolrack -n '__fish_seen_subcommand_from why' -l crash -x -d 'Only this stored crash'
complete -c toolrack -n '__fish_seen_subcommand_from show' -l schema -d 'Also the JSON Schemas'
complete -c toolrack -n '__fish_seen_subcommand_from list' -l tag -x -d 'Only with this tag'
complete -c toolrack -n '__fish_seen_subcommand_from list' -l category -x -d 'Only of this category'
complete -c toolrack -n '__fish_seen_subcommand_from list' -l purpose -x -d 'Only with this in their purpose'
complete -c toolrack -n '__fish_seen_subcommand_from list' -l scenario -x -d 'Only for this scenario'
complete -c toolrack -n '__fish_seen_subcommand_from call' -l arg -x -d 'One argument, name=value'
complete -c toolrack -n '__fish_seen_subcommand_from call' -l timeout -x -d 'Give up after so many milliseconds'
complete -c toolrack -n '__fish_seen_subcommand_from call' -l yes -d 'Agree to what the tool does'
complete -c toolrack -n '__fish_seen_subcommand_from answer' -F
complete -c toolrack -n '__fish_seen_subcommand_from answer' -l format -x -a 'openai openai-responses anthropic gemini ollama mcp' -d 'Whose message it is'
complete -c toolrack -n '__fish_seen_subcommand_from answer' -l caller -x -d 'Who calls'
complete -c toolrack -n '__fish_seen_subcommand_from answer' -l conversation -x -d 'The conversation it belongs to'
complete -c toolrack -n '__fish_seen_subcommand_from answer' -l timeout -x -d 'Give each call up after so many milliseconds'
complete -c toolrack -n '__fish_seen_subcommand_from answer' -l yes -d 'Agree to what the tools do'
complete -c toolrack -n '__fish_seen_subcommand_from call' -l caller -x -d 'Who calls'
complete -c toolrack -n '__fish_seen_subcommand_from call' -l conversation -x -d 'Of which conversation'
complete -c toolrack -n '__fish_seen_subcommand_from call' -l trace -x -d 'An id that ties records together'
complete -c toolrack -n '__fish_seen_subcommand_from default' -l plugin -x -d 'Give the name to this plugin'
complete -c toolrack -n '__fish_seen_subcommand_from default' -l reset -d 'Let the highest version be the default'
complete -c toolrack -n '__fish_seen_subcommand_from agent' -l endpoint -x -d 'Where the provider is'
complete -c toolrack -n '__fish_seen_subcommand_from agent' -l model -x -d 'Which model'
complete -c toolrack -n '__fish_seen_subcommand_from agent' -l format -x -a 'openai openai-responses anthropic gemini ollama' -d 'What the provider speaks'
complete -c toolrack -n '__fish_seen_subcommand_from agent' -l max-steps -x -d 'Ask the model so often at most'
complete -c toolrack -n '__fish_seen_subcommand_from agent' -l system -x -d 'What the model is told beforehand'
complete -c toolrack -n '__fish_seen_subcommand_from agent' -l transcript -r -F -d 'Keep the transcript there'
complete -c toolrack -n '__fish_seen_subcommand_from list show call enable disable priority default grant revoke feedback blacklist whitelist why release reload rollback statistics' -a '(__toolrack_tools)'
complete -c toolrack -n '__fish_seen_subcommand_from export' -l format -x -a 'openai openai-responses anthropic gemini ollama mcp' -d 'For whom'
complete -c toolrack -n '__fish_seen_subcommand_from export' -l allow -x -d 'Only these tools'
complete -c toolrack -n '__fish_seen_subcommand_from export' -l limit -x -d 'At most so many tools'
complete -c toolrack -n '__fish_seen_subcommand_from export' -l budget -x -d 'At most so many tokens'
complete -c toolrack -n '__fish_seen_subcommand_from export' -l disabled -d 'Disabled tools too'
complete -c toolrack -n '__fish_seen_subcommand_from export' -l explain -d 'Say what was changed'
complete -c toolrack -n '__fish_seen_subcommand_from grant' -l for -x -d 'How long, such as 10m'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l tool -x -a '(__toolrack_tools)' -d 'Only calls of this tool'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l caller -x -d 'Only calls of this caller'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l conversation -x -d 'Only calls of this conversation'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l exit -x -a 'ok failed NotFound Disabled InvalidArguments PermissionDenied ConfirmationRequired ExecutionFailed Timeout Cancelled LimitExceeded' -d 'Only calls that ended so'
complete -c toolrack -n '__fish_seen_subcommand_from decisions' -l tool -x -a '(__toolrack_tools)' -d 'Only about this tool'
complete -c toolrack -n '__fish_seen_subcommand_from decisions' -l plugin -x -d 'Only about this plugin'
complete -c toolrack -n '__fish_seen_subcommand_from decisions' -l since -x -d 'Not older than this, such as 10m'
complete -c toolrack -n '__fish_seen_subcommand_from decisions' -l limit -x -d 'At most so many'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l errors -d 'Only calls that failed'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l since -x -d 'Not older than this, such as 10m'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l limit -x -d 'At most so many'
complete -c toolrack -n '__fish_seen_subcommand_from log' -l follow -d 'Go on with those that are made'
complete -c toolrack -n '__fish_seen_subcommand_from approvals' -a 'allow always conversation deny'
complete -c toolrack -n '__fish_seen_subcommand_from mcp' -l profile -x -d 'Only the tools of this profile'
complete -c toolrack -n '__fish_seen_subcommand_from recommend' -l task -x -d 'What is to be done'
complete -c toolrack -n '__fish_seen_subcommand_from recommend' -l limit -x -d 'At most so many'
complete -c toolrack -n '__fish_seen_subcommand_from recommend' -l explain -d 'Show what each score is made of'
complete -c toolrack -n '__fish_seen_subcommand_from feedback' -l call -x -d 'The call it is about'
complete -c toolrack -n '__fish_seen_subcommand_from feedback' -a 'good bad'
complete -c toolrack -n '__fish_seen_subcommand_from token' -l admin -d 'Let it administer the host'
complete -c toolrack -n '__fish_seen_subcommand_from token' -l profile -x -d 'Only the tools of this profile'
complete -c toolrack -n '__fish_seen_subcommand_from token' -l expires -x -d 'Until when it is valid'
complete -c toolrack -n '__fish_seen_subcommand_from token' -l rate -x -d 'At most so many requests a minute'
complete -c toolrack -n '__fish_seen_subcommand_from token' -l tool -x -a '(__toolrack_tools)' -d 'Only this tool'
complete -c toolrack -n '__fish_seen_subcommand_from token' -l approves -d 'Its answers count as a person\'s'
complete -c toolrack -n '__fish_seen_subcommand_from token' -a 'list add revoke'
complete -c toolrack -n '__fish_seen_subcommand_from tasks' -l owner -x -d 'Only tasks of this owner'
complete -c toolrack -n '__fish_seen_subcommand_from tasks' -a 'list show cancel'
complete -c toolrack -n '__fish_seen_subcommand_from blacklist whitelist' -l why -x -d 'The reason'
complete -c toolrack -n '__fish_seen_subcommand_from blacklist whitelist' -a 'list add remove'
complete -c toolrack -n '__fish_seen_subcommand_from check' -F
complete -c toolrack -n '__fish_seen_subcommand_from help' -a 'list show call export answer agent enable disable priority default grant revoke grants allow disallow approvals token tasks recommend feedback blacklist whitelist plugins why release reload rollback adopt watch mcp log decisions statistics check version'
