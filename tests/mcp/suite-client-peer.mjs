// suite-client-peer.mjs URL - the client that suite-client.mjs lets the conformance suite test: toolrack
// with the suite's server mounted. Each tool that it then has is called once, with arguments made
// from its schema, and questions are answered with their defaults.
import {pipe} from './lib.mjs';

const url = process.argv[2];
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const server = {url, permission: 'safe', prefix: ''};
if (scenario.startsWith('auth/')) {
    server.auth = {type: 'client_credentials', client_id: given.client_id ?? 'toolrack',
                   client_secret: given.client_secret ?? 'a secret of no use'};
}
const client = pipe({plugins: [], config: {mcpServers: {suite: server}}});

let asked = 0;
let read = 0;
const say = (message) => client.send({jsonrpc: '2.0', ...message});

function defaults(schema) {
    const all = Object.entries(schema?.properties ?? {});
    return Object.fromEntries(all.filter(([, one]) => 'default' in one).map(([key, one]) => [key, one.default]));
}

// The result of a request; what the server asks meanwhile is answered.
async function ask(method, params) {
    const id = ++asked;
    say({id, method, params});
    for (;;) {
        while (read < client.lines.length) {
            const message = JSON.parse(client.lines[read++]);
            if (message.method === 'elicitation/create') {
                say({id: message.id, result: {action: 'accept', content: defaults(message.params.requestedSchema)}});
            } else if (message.id === id && !message.method) {
                return message;
            }
        }
        if (client.child.exitCode !== null) {
            throw new Error(`toolrack has ended: ${client.child.errors}`);
        }
        await client.more();
    }
}

// Values that cannot stand in a header as they are.
const odd = {
    region: 'us-west1', priority: 42, verbose: false, debug: true, empty_val: '', method_val: 'a-method', float_val: 1.5,
    non_ascii_val: 'Hello, 世界', whitespace_val: ' both ', leading_space_val: ' before', trailing_space_val: 'behind ',
    internal_space_val: 'in between', control_char_val: 'a\u0001b', crlf_val: 'one\r\ntwo', tab_val: '\tone', query: 'SELECT 1',
};

function value(name, schema, tools) {
    if (name === 'schema') {
        return tools.find((tool) => tool.name === 'json_schema_2020_12_tool')?.inputSchema ?? {};
    }
    if (scenario.startsWith('http-') && name in odd) {
        return odd[name];
    }
    return {integer: 3, number: 3, boolean: true, array: [], object: {}}[schema.type] ?? 'text';
}

await ask('initialize', {protocolVersion: '2025-11-25', capabilities: {elicitation: {}},
                         clientInfo: {name: 'toolrack-tests', version: '1.0.0'}});
say({method: 'notifications/initialized'});
const {tools} = (await ask('tools/list', {})).result;
const own = tools.filter((tool) => !['find_tools', 'run_plan'].includes(tool.name));
for (const tool of own) {
    const every = Object.entries(tool.inputSchema.properties ?? {});
    const wanted = every.filter(([key]) => tool.inputSchema.required?.includes(key) || scenario === 'http-custom-headers');
    const filled = wanted.map(([key, schema]) => [key, value(key, schema, tools)]);
    const omits = tool.name.endsWith('_null') ? ['verbose'] : [];
    const answer = await ask('tools/call', {name: tool.name, arguments: Object.fromEntries(filled.filter(([key]) => !omits.includes(key)))});
    console.log(tool.name, JSON.stringify(answer.result ?? answer.error));
}
const status = await client.close();
console.error(client.child.errors);
process.exit(status);
