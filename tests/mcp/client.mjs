// client.mjs - what the official TypeScript clients do with toolrack: the same cases for each client,
// era and transport. client-v1.mjs and client-v2.mjs say how their SDK is used.
import assert from 'node:assert/strict';
import {commandLine, finish, knownToFail, passes, rows, serve, soon} from './lib.mjs';

const plugins = process.env.MCP_CONFORMANCE.split(':');
const watched = 'test://watched-resource';
export const capabilities = {elicitation: {form: {}}, sampling: {}, roots: {listChanged: true}};

let asked = []; // what a person was asked to allow

/** What the client answers when the server asks. */
export const answers = {
    elicit({message, requestedSchema}) {
        const allows = requestedSchema.properties.decision !== undefined;
        if (allows) {
            asked.push(message);
        }
        return {action: 'accept', content: allows ? {decision: 'allow once'} : {response: `to: ${message}`}};
    },
    sample: ({messages}) => ({role: 'assistant', model: 'test', stopReason: 'endTurn',
                              content: {type: 'text', text: `said: ${[messages[0].content].flat()[0].text}`}}),
    roots: () => ({roots: [{uri: 'file:///work', name: 'work'}]}),
};

const text = (result) => result.content[0].text;

async function allTools(client) {
    const names = [];
    let cursor;
    do {
        const page = await client.listTools(cursor ? {cursor} : {});
        names.push(...page.tools.map((tool) => tool.name));
        cursor = page.nextCursor;
    } while (cursor);
    return names;
}

// `sdk`: connect(transport), call(client, name, arguments, options), on(client, notification, function),
// subscribe(client, uri), which gives a function that ends it.
async function cases(title, sdk, client) {
    const is = (name, check) => passes(`${title}: ${name}`, () => soon(check(), name));
    await is('list', async () => {
        const names = await allTools(client);
        assert.ok(names.includes('greet') && names.includes('test_simple_text'), names.join(' '));
        assert.equal(new Set(names).size, names.length);
    });
    await is('call', async () => {
        assert.equal(text(await sdk.call(client, 'greet', {name: 'you'})), 'Hello, you!');
    });
    await is('structured result', async () => {
        assert.deepEqual((await sdk.call(client, 'pair', {a: 2, b: 3})).structuredContent, {sum: 5, product: 6});
    });
    await is('a tool that fails', async () => {
        assert.equal((await sdk.call(client, 'test_error_handling', {})).isError, true);
    });
    await is('progress', async () => {
        const seen = [];
        await sdk.call(client, 'test_tool_with_progress', {}, {onprogress: ({progress, total}) => seen.push([progress, total])});
        // The client drops one that arrives together with the result.
        assert.deepEqual(seen.slice(0, 2), [[0, 100], [50, 100]]);
    });
    await is('cancel', async () => {
        const stop = new AbortController();
        const progress = {};
        const begun = new Promise((resolve) => { progress.onprogress = resolve; });
        const call = sdk.call(client, 'slow_compute', {seconds: 60}, {signal: stop.signal, ...progress});
        call.catch(() => {});
        await begun;
        stop.abort('not wanted any more');
        await assert.rejects(call);
        assert.equal(text(await sdk.call(client, 'greet', {name: 'again'})), 'Hello, again!');
    });
    await is('elicit', async () => {
        assert.match(text(await sdk.call(client, 'test_elicitation', {message: 'who?'})), /to: who\?/);
    });
    await is('sample', async () => {
        assert.match(text(await sdk.call(client, 'test_sampling', {prompt: 'a word'})), /said: a word/);
    });
    await is('roots', async () => {
        assert.match(text(await sdk.call(client, 'test_input_required_result_list_roots', {})), /file:\/\/\/work/);
    });
    await is('resources', async () => {
        assert.ok((await client.listResources()).resources.some(({uri}) => uri === watched));
        assert.match((await client.readResource({uri: 'test://static-text'})).contents[0].text, /static text/);
    });
    await is('prompts', async () => {
        assert.ok((await client.listPrompts()).prompts.some(({name}) => name === 'test_simple_prompt'));
        const {messages} = await client.getPrompt({name: 'test_prompt_with_arguments', arguments: {arg1: 'x', arg2: 'y'}});
        assert.match(messages[0].content.text, /x.*y/);
    });
    await is('subscribe', async () => {
        const update = new Promise((resolve) => { sdk.on(client, 'resources/updated', resolve); });
        const end = await sdk.subscribe(client, {resourceSubscriptions: [watched]});
        await sdk.call(client, 'touch_watched_resource', {});
        assert.equal((await update).params.uri, watched);
        await end();
    });
    await is('changed list', async () => {
        const change = new Promise((resolve) => { sdk.on(client, 'tools/list_changed', resolve); });
        const end = await sdk.subscribe(client, {toolsListChanged: true});
        await sdk.call(client, 'test_trigger_tool_change', {});
        await change;
        await end();
    });
}

// ---------------------------------------------------------------------- plans

// Plans are with the tools for searching. `wipe` needs a person's yes, which a client may give.
const planConfig = {
    serve: {expose: 'search', elicitation: 'approve'},
    tools: [{
        name: 'wipe', type: 'function', description: 'Wipe a disk', permission: 'confirm',
        parameters: {type: 'object', properties: {disk: {type: 'string'}}},
        implementation: {type: 'mock', mock_response: 'wiped'},
    }],
};
const node = (id, tool, args = {}, more = {}) => ({id, tool, arguments: args, ...more});
const ref = ($ref) => ({$ref});

async function planCases(title, sdk, client) {
    const is = (name, check) => passes(`${title}: ${name}`, () => soon(check(), name));
    const runPlan = (nodes, options, more = {}) => sdk.call(client, 'run_plan', {plan: {nodes, ...more}}, options);
    const isStateless = client.getProtocolEra?.() === 'modern';
    await is('list', async () => {
        const names = await allTools(client);
        assert.ok(names.includes('run_plan') && !names.includes('pair'), names.join(' '));
    });
    await is('call', async () => {
        const {structuredContent} = await runPlan(
            [node('a', 'pair', {a: 2, b: 3}), node('b', 'pair', {a: ref('#/nodes/a/result/sum'), b: 4})], undefined,
            {result: {last: ref('#/nodes/b/result')}});
        assert.deepEqual(structuredContent.result, {last: {sum: 9, product: 20}});
        assert.match(structuredContent.run, /^[0-9a-f]{32}$/);
    });
    await is('what is wrong with it', async () => {
        const result = await runPlan([node('a', 'pear', {a: 2, b: 3})]);
        assert.equal(result.isError, true);
        assert.match(text(result), /"findings":\[\{.*did you mean/);
    });
    await is('progress of each node', async () => {
        const seen = [];
        await runPlan([node('a', 'greet', {name: 'one'}), node('b', 'greet', {name: 'two'}, {depends_on: ['a']})],
                      {onprogress: ({progress, total}) => seen.push([progress, total])});
        assert.deepEqual(seen[0], [1, 2]); // the client drops one that arrives together with the result
    });
    await is('cancel', async () => {
        const stop = new AbortController();
        const progress = {};
        const begun = new Promise((resolve) => { progress.onprogress = resolve; });
        const call = runPlan([node('a', 'greet', {name: 'you'}), node('b', 'slow_compute', {seconds: 60}, {depends_on: ['a']})],
                             {signal: stop.signal, ...progress});
        call.catch(() => {});
        await begun;
        stop.abort('not wanted any more');
        await assert.rejects(call);
        assert.match(text(await runPlan([node('a', 'greet', {name: 'again'})])), /Hello, again!/);
    });
    await is('approval of all of it', async () => {
        asked = [];
        const result = await runPlan([node('a', 'wipe', {disk: 'one'}), node('b', 'wipe', {disk: 'two'})]);
        assert.match(text(result), /"a":"wiped".*"b":"wiped"/);
        assert.equal(asked.length, 1);
        assert.match(asked[0], /one.*two/s);
    });
    // Its arguments are known when it begins. In the stateless era the answer would begin the run anew.
    await is('a node that asks for itself', async () => {
        asked = [];
        const result = await runPlan([node('a', 'test_simple_text'), node('b', 'wipe', {disk: ref('#/nodes/a/result')})]);
        assert.equal(asked.length, isStateless ? 1 : 2);
        assert.equal(result.isError === true, isStateless);
        assert.match(text(result), isStateless ? /waits for somebody.*Run [0-9a-f]{32}/s : /wiped/);
    });
    await is('a tool that asks', async () => {
        const result = await runPlan([node('a', 'test_elicitation', {message: 'who?'})]);
        assert.match(text(result), isStateless ? /the client offers no such thing/ : /to: who\?/);
    });
}

/** Without arguments both transports; an argument chooses one. */
export async function run(version, eras, sdk) {
    knownToFail(rows('failures', 'clients').map((words) => words.join(' ')));
    const transports = process.argv[2] ? [process.argv[2]] : ['stdio', 'http'];
    const suites = [['', {plugins}, cases], [', plans', {plugins, config: planConfig}, planCases]];
    for (const [more, options, suite] of suites) {
        const server = transports.includes('http') && await serve(options);
        for (const era of eras) {
            const [command, ...args] = commandLine(options, 'mcp');
            for (const transport of transports) {
                const target = transport === 'stdio' ? {command, args} : {url: new URL(server.url)};
                const title = `client ${version}, ${era}, ${transport}${more}`;
                let client;
                await passes(`${title}: connect`, async () => {
                    client = await soon(sdk.connect(era, target), 'connecting');
                });
                if (client) {
                    await suite(title, sdk, client);
                    await passes(`${title}: close`, () => soon(client.close(), 'closing'));
                }
            }
        }
        if (server) {
            await passes(`${version}${more}: the server ends at SIGTERM`, async () => {
                assert.equal(await server.stop(), 0, server.child.errors);
            });
        }
    }
    await finish();
}
