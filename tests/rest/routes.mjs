// routes.mjs - every route of the document, where it succeeds and where it is refused: what comes back is as the
// document says, which a validator of others finds sound.
import assert from 'node:assert/strict';
import {Validator} from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv/dist/2020.js';
import {DatabaseSync} from 'node:sqlite';
import {append, ask, command, configure, database, ended, exchange, failure, finish, listen, passes, prepare, start, stop, terminate} from './server.mjs';

const mock = (name, more = {}) => ({name, type: 'function', description: `Gives ${name}`,
    parameters: {type: 'object', properties: {}}, implementation: {type: 'mock', mock_response: {a: 1}}, ...more});
prepare({tools: [mock('low', {priority: 1, tags: ['t'], category: 'c'}), mock('high', {priority: 900}), mock('other'),
                 mock('off'), mock('typed', {parameters: {type: 'object', properties: {a: {type: 'number'}}}}), mock('asks', {permission: 'confirm'}), mock('wipe', {permission: 'dangerous'}), mock('wreck', {permission: 'dangerous'})],
         serve: {profiles: {few: {tools: ['low']}}, limits: {keep_alive_s: 1}}}, ['says', 'prints'], ['broken']);
const boss = command('token', 'add', 'boss', '--admin').trim();
const user = command('token', 'add', 'user').trim();
command('call', 'low', '{}');
command('disable', 'off');
await start();

const document = (await ask('GET', '/api/openapi.json')).json;
const ajv = new Ajv({strict: false, allErrors: true});
ajv.addSchema({...document, $id: 'doc'}, 'doc');
const schemaOf = (name) => ajv.getSchema(`doc#/components/schemas/${name}`) ?? ajv.compile({$ref: `doc#/components/schemas/${name}`});

const operations = Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods)
    .map(([method, operation]) => ({path, method: method.toUpperCase(), ...operation})));

const {id: chosen} = (await ask('POST', '/api/select', {body: {text: 'gives low'}})).json;

const plan = (tool) => ({nodes: [{id: 'a', tool}]});
const runOf = async (body) => {
    const {id} = (await ask('POST', '/api/runs', {body})).json;
    while ((await ask('GET', `/api/runs/${id}`)).json.state === 'running');
    return id;
};
const ran = await runOf({plan: plan('low')});
const removed = await runOf({plan: plan('low')});

// What each operation needs to succeed, and where it fails with the types that it states. A call that lasts longer than streams
// are silent (keep_alive_s) is answered as any other.
const cases = {
    getHealth: [{}],
    getReadiness: [{}],
    getDocument: [{}],
    getMetrics: [{}],
    listTools: [{}, {query: 'enabled=true&tag=t'}, {query: 'plugin=low'}],
    getTool: [{parts: {name: 'low'}}, {parts: {name: 'low@1.0.0'}}, {parts: {name: 'nothing'}, fails: 'NotFound'}],
    exportTools: [...['openai', 'openai-responses', 'anthropic', 'gemini', 'ollama', 'mcp'].map((format) => ({parts: {format}})),
        {parts: {format: 'mcp'}, query: 'allow=low,nothing&limit=1&budget=1000'}, {parts: {format: 'none'}, fails: 'NotFound'}],
    recommendTools: [{}, {query: 'task=low&limit=1'}],
    searchTools: [{query: 'text=low&limit=1'}, {query: 'text=%20', fails: 'Invalid'}, {fails: 'Invalid'}],
    selectTool: [{body: {text: 'gives low', context: {time_zone: 'UTC'}, limit: 2, explain: true}}, {body: {text: 'xyzzy'}},
        {body: {text: '给出 low', tools: ['low', 'high', 'none']}}, {body: {text: ''}, fails: 'Invalid'},
        {body: {text: 'low', context: {now: 'yesterday'}}, fails: 'Invalid'}, {body: {text: 'low', context: 'now'}, fails: 'Invalid'}],
    noteSelection: [{parts: {id: chosen}, body: {worked: true}}, {parts: {id: chosen}, body: {tool: 'low'}}, {parts: {id: chosen}, body: {tool: ''}},
        {parts: {id: chosen}, body: {tool: 'nothing'}, fails: 'NotFound'}, {parts: {id: 'none'}, body: {worked: true}, fails: 'NotFound'},
        {parts: {id: chosen}, body: {}, fails: 'Invalid'}],
    makePlan: [{body: {text: 'gives low'}}, {body: {text: '给出 low', tools: ['low'], context: {time_zone: 'UTC'}}}, {body: {text: ''}, fails: 'Invalid'},
        {body: {text: 'low', context: {now: 'yesterday'}}, fails: 'Invalid'}],
    checkPlan: [{body: plan('low')}, {body: plan('nothing')}, {body: '{"nodes":'}],
    beginRun: [{body: {plan: plan('low'), inputs: {}}}, {body: {plan: plan('nothing')}, fails: 'Invalid'}, {body: {}, fails: 'Invalid'},
        {body: {plan: {...plan('low'), inputs: {n: {type: 'integer'}}}}, fails: 'InvalidArguments'}, {body: {plan: plan('asks')}, fails: 'ConfirmationRequired'}],
    listRuns: [{}],
    getRun: [{parts: {id: ran}}, {parts: {id: 'none'}, fails: 'NotFound'}],
    cancelRun: [{parts: {id: ran}, fails: 'Refused'}, {parts: {id: 'none'}, fails: 'NotFound'}],
    resumeRun: [{parts: {id: ran}, fails: 'Refused'}, {parts: {id: ran}, body: {skip: 1}, fails: 'Invalid'}, {parts: {id: 'none'}, body: {repeat: ['a'], skip: []}, fails: 'NotFound'}],
    removeRun: [{parts: {id: removed}}, {parts: {id: 'none'}, fails: 'NotFound'}],
    listPlugins: [{}],
    listHosts: [{}],
    beginSession: [{}],
    getSession: [{}],
    endSession: [{fails: 'NotFound'}],
    explainPlugin: [{parts: {name: 'low'}}, {parts: {name: 'nothing'}, fails: 'NotFound'}, {parts: {name: 'broken.so'}, fails: 'Invalid'}],
    setTool: [{parts: {name: 'other'}, body: {enabled: false, priority: -3}}, {parts: {name: 'other'}, body: {default: '1.0.0'}},
        {parts: {name: 'nothing'}, body: {enabled: true}, fails: 'NotFound'}, {parts: {name: 'other'}, body: {}, fails: 'Invalid'},
        {parts: {name: 'other@^1'}, body: {enabled: true}, fails: 'Invalid'}],
    callTool: [{parts: {name: 'low'}, body: {}}, {parts: {name: 'low@^1'}, query: 'timeout_ms=5000&conversation=c'},
        {parts: {name: 'nothing'}, fails: 'NotFound'}, {parts: {name: 'off'}, fails: 'Disabled'},
        {parts: {name: 'wrong'}, fails: 'InvalidArguments'}, {parts: {name: 'low'}, body: '[1', fails: 'InvalidArguments'},
        {parts: {name: 'wreck'}, fails: 'PermissionDenied'}, {parts: {name: 'asks'}, fails: 'ConfirmationRequired'},
        {parts: {name: 'placeless'}, fails: 'ExecutionFailed'}, {parts: {name: 'full'}, fails: 'LimitExceeded'},
        {parts: {name: 'listens'}, query: 'timeout_ms=2500', fails: 'Timeout'}],
    answerMessage: [{query: 'format=openai', body: {role: 'assistant', content: 'none'}},
        {query: 'format=openai', body: {role: 'assistant', content: null, tool_calls: [{id: '1', type: 'function',
            function: {name: 'low', arguments: '{}'}}]}},
        {query: 'format=openai', body: '[', fails: 'Invalid'}, {body: {}, fails: 'Invalid'},
        {query: 'format=anthropic', body: {stop_reason: 'refusal', content: [{type: 'tool_use', id: '1', name: 'low', input: {}}]}, fails: 'Refused'},
        {query: 'format=openai', body: {role: 'assistant', content: null, tool_calls: Array.from({length: 1025}, (none, i) => ({id: `${i}`,
            type: 'function', function: {name: 'low', arguments: '{}'}}))}, fails: 'LimitExceeded'}],
    listTasks: [{}],
    getTask: [{parts: {id: 'none'}, fails: 'NotFound'}],
    deleteTask: [{parts: {id: 'none'}, fails: 'NotFound'}],
    followEvents: [],
    reloadAll: [{body: {}}],
    reloadPlugin: [{parts: {name: 'says'}}, {parts: {name: 'nothing'}, fails: 'NotFound'}, {parts: {name: 'low'}, fails: 'Invalid'}],
    rollbackPlugin: [{parts: {name: 'nothing'}, fails: 'NotFound'}, {parts: {name: 'low'}, fails: 'Invalid'}],
    releasePlugin: [{parts: {name: 'nothing'}, fails: 'NotFound'}],
    answerApproval: [{parts: {id: 'none'}, body: {answer: 'deny'}, fails: 'NotFound'},
        {parts: {id: 'none'}, body: {answer: 'perhaps'}, fails: 'Invalid'}],
    grantTool: [{body: {tool: 'wipe', seconds: 1}}, {body: {tool: 'nothing'}, fails: 'NotFound'}, {body: {tool: 'wipe@^1'}, fails: 'Invalid'},
        {body: {tool: 'wipe', seconds: 0}, fails: 'Invalid'}],
    revokeTool: [{parts: {tool: 'wipe'}}, {parts: {tool: 'nothing'}, fails: 'NotFound'}],
    markTool: [{parts: {list: 'whitelist', tool: 'low'}, body: {why: 'good'}}, {parts: {list: 'none', tool: 'low'}, fails: 'NotFound'},
        {parts: {list: 'blacklist', tool: 'nothing'}, fails: 'NotFound'}, {parts: {list: 'blacklist', tool: 'low@^1'}, fails: 'Invalid'}],
    unmarkTool: [{parts: {list: 'whitelist', tool: 'low'}}, {parts: {list: 'whitelist', tool: 'low'}, fails: 'NotFound'}],
    giveFeedback: [{body: {tool: 'low', feedback: 'good', call: 1}}, {body: {tool: 'nothing', feedback: 'bad'}, fails: 'NotFound'}],
    addToken: [{body: {name: 'new', tools: ['low'], rate_per_minute: 100}}, {body: {name: 'new'}, fails: 'AlreadyExists'},
        {body: {name: '-'}, fails: 'Invalid'}, {body: {name: 'zero', expires_s: 0}, fails: 'Invalid'},
        {body: {name: 'zero', rate_per_minute: 0}, fails: 'Invalid'}],
    revokeToken: [{parts: {name: 'new'}}, {parts: {name: 'new'}, fails: 'NotFound'}],
    listApprovals: [{}],
    listGrants: [{}],
    getList: [{parts: {list: 'whitelist'}}, {parts: {list: 'blacklist'}}, {parts: {list: 'none'}, fails: 'NotFound'}],
    listTokens: [{}],
    getStatistics: [{}, {query: 'tool=low'}, {query: 'tool=nothing', fails: 'NotFound'}],
    listDecisions: [{}, {query: 'tool=low&limit=5'}],
    listCalls: [{}, {query: 'limit=1&before=2&errors=false'}, {query: 'tool=low@%5E1', fails: 'Invalid'}],
    getCall: [{parts: {id: '1'}}, {parts: {id: '99'}, fails: 'NotFound'}, {parts: {id: 'x'}, fails: 'Invalid'}],
};

const fill = (path, parts = {}) => path.replace(/\{(\w+)\}/g, (all, name) => encodeURIComponent(parts[name] ?? 'x'));
const targetOf = ({path}, {parts, query} = {}) => fill(path, parts) + (query ? `?${query}` : '');
const withBody = ({method}) => !['GET', 'DELETE'].includes(method);
const send = (operation, one = {}, more = {}) => ask(operation.method, targetOf(operation, one),
    {token: operation['x-class'] === 'admin' ? boss : undefined,
     body: one.body ?? (withBody(operation) ? {} : undefined), ...more});

function checkSchema(name, value) {
    const validate = schemaOf(name);
    assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 400)}`);
}

/** A refusal: a problem as the document says it, of a type and with a status. */
function checkProblem(answer, status, type) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers['content-type'], 'application/problem+json');
    checkSchema('Problem', answer.json);
    assert.equal(answer.json.status, status);
    assert.ok(answer.json.type.endsWith(answer.json.error.type));
    if (type) {
        assert.equal(answer.json.error.type, type);
    }
}

// What is stated and has no case above: shown below, or not to be caused by one request.
const elsewhere = {makePlan: ['LimitExceeded'], beginRun: ['PermissionDenied', 'LimitExceeded'], removeRun: ['Refused'],
    resumeRun: ['InvalidArguments', 'InputRequired', 'PermissionDenied', 'ConfirmationRequired', 'LimitExceeded'], callTool: ['Cancelled'], answerMessage: ['PermissionDenied'], noteSelection: ['PermissionDenied'],
    deleteTask: ['Invalid'], rollbackPlugin: ['Refused'], answerApproval: ['PermissionDenied'],
    addToken: ['LimitExceeded'], beginSession: ['Invalid', 'LimitExceeded'], getReadiness: ['Cancelled']};

const statusOf = (operation, type) => Number(Object.entries(operation.responses)
    .find(([, response]) => response.description.split(', ').includes(type))?.[0]);

await passes('the document is sound, says a validator of OpenAPI', async () => {
    const result = await new Validator().validate(structuredClone(document));
    assert.ok(result.valid, JSON.stringify(result.errors));
});

await passes('each operation has its cases, and each case is of one', async () => {
    assert.deepEqual(operations.map((one) => one.operationId).sort(), Object.keys(cases).sort());
});

await passes('each failure that an operation states has a case', async () => {
    for (const {operationId, responses} of operations) {
        const stated = Object.entries(responses).filter(([status]) => Number(status) >= 400)
            .flatMap(([, response]) => response.description.split(', '));
        const shown = [...cases[operationId].map((one) => one.fails), ...(elsewhere[operationId] ?? [])];
        assert.deepEqual(stated.filter((type) => !shown.includes(type)), [], operationId);
    }
});

const streamOf = (id) => operations.find((one) => one.operationId === id);
const streamData = ({responses}) => (responses[200] ?? responses[202]).content['text/event-stream']['x-event-data'];
const checkEvent = (id, value) => checkSchema(streamData(streamOf(id)).$ref.split('/').pop(), value);
const headersOf = (operation) => operation.parameters.filter((one) => one.in === 'header').map((one) => one.name);

await passes('the document says which headers each operation hears', async () => {
    for (const operation of operations) {
        const heard = ['X-Request-Id', 'traceparent', ...(operation.responses[304] ? ['If-None-Match'] : []),
                       ...(['listCalls', 'followEvents'].includes(operation.operationId) ? ['Last-Event-ID'] : []),
                       ...(operation.operationId === 'callTool' ? ['Prefer'] : [])];
        assert.deepEqual(headersOf(operation), heard, operation.operationId);
    }
});

await passes('each event of a stream, and a task that is preferred, are as the document says', async () => {
    const events = listen('GET', '/api/events', {token: boss, headers: {'last-event-id': 'of-another'}});
    checkEvent('followEvents', (await events.next()).json);
    const log = listen('GET', '/api/log?after=0', {token: boss});
    let event;
    while ((event = await log.next()).json === undefined);
    checkEvent('listCalls', event.json);
    [events, log].forEach((one) => one.close());
    for (const tool of ['logs', 'placeless']) {
        const call = listen('POST', `/api/tools/${tool}/call`, {body: {}});
        let count = 0;
        for (; (event = await call.next()) !== null; count++) {
            checkEvent('callTool', event.json);
        }
        assert.ok(count > 0, tool);
    }
    const run = listen('POST', '/api/runs', {body: {plan: {nodes: [{id: 'a', tool: 'low'}, {id: 'b', tool: 'placeless', on_error: 'skip'}]}}});
    const told = [];
    for (; (event = await run.next()) !== null; told.push(event.json)) {
        checkEvent('beginRun', event.json);
    }
    assert.match(told[0].id, /^[0-9a-f]{32}$/);
    assert.deepEqual(told.slice(1, -1).map((one) => `${one.node} ${one.event}`).sort(), ['a began', 'a ended', 'b began', 'b ended']);
    assert.equal(told.at(-1).run.state, 'succeeded', JSON.stringify(told.at(-1)));
    const {202: stated} = operations.find((one) => one.operationId === 'callTool').responses;
    const task = await ask('POST', '/api/tools/low/call', {body: {}, token: boss, headers: {prefer: 'respond-async'}});
    assert.equal(task.status, 202, task.text);
    Object.keys(stated.headers).forEach((name) => assert.ok(task.headers[name.toLowerCase()], name));
    checkSchema(stated.content['application/json'].schema.$ref.split('/').pop(), task.json);
});

await passes('each example of the document is as its schema says', async () => {
    for (const {operationId, requestBody} of operations) {
        const {schema, example} = requestBody?.content['application/json'] ?? {};
        if (example) {
            assert.ok(ajv.validate(schema, example), operationId);
        }
    }
});

await passes('the server takes each example of the document', async () => {
    for (const operation of operations.filter((one) => one.requestBody?.content['application/json'].example)) {
        const one = cases[operation.operationId].find((other) => !other.fails) ?? cases[operation.operationId][0];
        const answer = await send(operation, {...one, body: operation.requestBody.content['application/json'].example});
        assert.ok(answer.status < 300 || answer.json.error.type === 'NotFound' || answer.json.findings?.[0].id === 'plan-tool', `${operation.operationId}: ${answer.text}`);
    }
});

for (const operation of operations) {
    const {operationId, method, path} = operation;
    for (const one of cases[operationId] ?? []) {
        await passes(`${method} ${targetOf(operation, one)} ${one.fails ? `fails with ${one.fails}` : 'succeeds'}`, async () => {
            const answer = await send(operation, one);
            assert.ok(answer.headers['x-request-id'], 'it has no id');
            if (one.fails) {
                checkProblem(answer, statusOf(operation, one.fails), one.fails);
                return;
            }
            const [status, response] = Object.entries(operation.responses)[0];
            assert.equal(answer.status, Number(status), answer.text);
            const [[type, {schema}]] = Object.entries(response.content);
            assert.equal(answer.headers['content-type'].split(';')[0], type);
            checkSchema(schema.$ref.split('/').pop(), type === 'application/json' ? answer.json : answer.text);
        });
    }
    await passes(`${method} ${path} refuses what is wrong in its form`, async () => {
        checkProblem(await send(operation, {...cases[operationId]?.[0], query: 'no-such-parameter=1'},
            operationId === 'followEvents' ? {headers: {accept: 'text/event-stream'}} : {}), 400, 'Invalid');
        checkProblem(await send(operation, {}, {headers: {accept: 'text/html'}}), 406);
        const foreign = await send(operation, {}, {headers: {origin: 'https://evil.example'}});
        checkProblem(foreign, 403);
        assert.match(foreign.json.detail, /it is for programs, and for pages of the server itself/);
        checkProblem(await send(operation, {}, {headers: {host: 'evil.example'}}), 403);
        const wrong = await ask('PROPFIND', fill(path), {token: boss});
        checkProblem(wrong, 405);
        assert.ok(wrong.headers.allow.split(', ').includes(method), wrong.headers.allow);
        const options = await ask('OPTIONS', fill(path), {headers: {origin: 'http://localhost:1'}});
        assert.equal(options.status, 204);
        assert.equal(options.headers.allow, wrong.headers.allow);
        assert.equal(options.headers['access-control-allow-origin'], undefined);
    });
    await passes(`${method} ${path} is for ${operation['x-class']}`, async () => {
        // One without a case that succeeds fails as it should, for whom it is.
        const one = cases[operationId].find((other) => !other.fails) ?? cases[operationId][0] ?? {};
        const headers = operationId === 'followEvents' ? {headers: {accept: 'text/event-stream'}} : {};
        const isLetIn = (answer) => ![401, 403].includes(answer.status);
        const wrongToken = await send(operation, one, {token: `trk_${'0'.repeat(64)}`, ...headers});
        if (operation['x-class'] === 'public') {
            assert.equal(wrongToken.status, 200);
            return;
        }
        checkProblem(wrongToken, 401, 'PermissionDenied');
        if (operation['x-class'] === 'admin') {
            const nobody = await send(operation, one, {token: undefined, ...headers});
            checkProblem(nobody, 401, 'PermissionDenied');
            assert.match(nobody.headers['www-authenticate'], /^Bearer /);
            checkProblem(await send(operation, one, {token: user, ...headers}), 403, 'PermissionDenied');
            if (operationId !== 'followEvents') {
                assert.ok(isLetIn(await send(operation, one, {token: undefined, peer: true})));
            }
        } else {
            assert.ok(isLetIn(await send(operation, one, {token: user})));
        }
    });
    if (method === 'GET' && operationId !== 'followEvents') {
        await passes(`HEAD ${path} has no body`, async () => {
            const one = cases[operationId].find((other) => !other.fails) ?? cases[operationId][0];
            const [head, get] = [await ask('HEAD', targetOf(operation, one), {token: boss}), await send(operation, one, {token: boss})];
            assert.equal(head.status, get.status);
            assert.equal(head.text, '');
            assert.equal(head.headers['content-type'], get.headers['content-type']);
            const stream = await ask('HEAD', targetOf(operation, one), {token: boss, headers: {accept: 'text/event-stream'}});
            assert.equal(stream.status, 406, 'a stream would have a body');
            assert.equal(stream.text, '');
        });
    } else if (withBody(operation)) {
        await passes(`${method} ${path} takes JSON and nothing else`, async () => {
            checkProblem(await send(operation, {}, {headers: {'content-type': 'text/plain'}}), 415);
            checkProblem(await send(operation, {}, {headers: {'content-type': 'application/x-www-form-urlencoded'}}), 415);
            checkProblem(await send(operation, {}, {headers: {'content-type': undefined}}), 415);
        });
    }
}

await passes('a member that is there twice is refused, in each route that has members', async () => {
    for (const operation of operations.filter((one) => !['callTool', 'answerMessage', 'checkPlan'].includes(one.operationId))) {
        const members = Object.entries(operation.requestBody?.content['application/json'].example ?? {});
        for (const [name, value] of members) {
            const once = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
            const answer = await send(operation, {...cases[operation.operationId][0], body: `{${once},${once}}`});
            checkProblem(answer, 400, 'Invalid');
            assert.equal(answer.json.detail, `the member '${name}' is there twice; send it once`);
        }
    }
    const hidden = await ask('PATCH', '/api/tools/other', {body: '{"enabled\\u0000x":true}', token: boss});
    checkProblem(hidden, 400, 'Invalid');
    assert.match(hidden.json.detail, /there is no member/);
});

await passes('a refusal says where, what it is about and what to do', async () => {
    const broken = await ask('POST', '/api/tools/low/call', {body: '[1'});
    const typed = await ask('POST', '/api/tools/typed/call', {body: {a: 'x'}});
    assert.equal(typed.json.error.field, '/a');
    assert.equal(typed.json.detail, `/a: ${typed.json.error.message}`);
    assert.equal(broken.json.title, 'The arguments are wrong');
    assert.match((await ask('POST', '/api/answer', {body: {format: 'openai'}})).json.detail,
        /^the query of the URL lacks 'format' \(\?format=\.\.\.\), which is openai\|/);
    assert.match((await ask('GET', '/api/log')).json.detail, /toolrack token add NAME --admin/);
});

await passes('ids of requests are those of the client, if a log can have them', async () => {
    assert.equal((await ask('GET', '/healthz', {headers: {'x-request-id': 'a-B_c.1'}})).headers['x-request-id'], 'a-B_c.1');
    for (const id of ['', 'a b', 'x'.repeat(65), 'a"b', 'ä']) {
        const answer = await ask('GET', '/healthz', {headers: {'x-request-id': Buffer.from(id).toString('latin1')}});
        assert.match(answer.headers['x-request-id'], /^[0-9a-f]{16}$/);
    }
});

const traced = '4bf92f3577b34da6a3ce929d0e0e4736';
const callTraced = (traceparent, more = {}) => ask('POST', '/api/tools/traced/call', {body: {}, headers: {traceparent, ...more}});

await passes('a call is a span in the trace of its client: for its tool, in the answer and in the log', async () => {
    const [one, other] = [await callTraced(`00-${traced}-00f067aa0ba902b7-01`), await callTraced(`cc-${traced}-00f067aa0ba902b7-01-more`)];
    assert.match(one.json.result, new RegExp(`^00-${traced}-[0-9a-f]{16}-01$`));
    assert.notEqual(one.json.result, other.json.result);
    assert.notEqual(one.json.result.split('-')[2], '00f067aa0ba902b7');
    assert.equal(one.headers.traceresponse, one.json.result);
    assert.equal(one.headers['x-request-id'], one.json.result.split('-')[2], 'the id of the request is that of its span');
    const {calls} = (await ask('GET', '/api/log?tool=traced', {token: boss})).json;
    const logged = calls.find((call) => call.trace === one.json.result);
    assert.equal(logged.trace_id, traced);
    assert.equal(logged.span_id, one.headers['x-request-id']);
    assert.equal(logged.attributes['gen_ai.tool.name'], 'traced');
    const named = await callTraced(`00-${traced}-00f067aa0ba902b7-00`, {'x-request-id': 'named'});
    assert.equal(named.headers['x-request-id'], 'named');
    assert.match(named.json.result, new RegExp(`^00-${traced}-[0-9a-f]{16}-00$`));
});

await passes('what is no trace is ignored, and refuses nothing', async () => {
    const valid = `00-${traced}-00f067aa0ba902b7-01`;
    for (const wrong of ['', 'x', valid.toUpperCase(), `ff${valid.slice(2)}`, `${valid}-more`, `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
                         valid.slice(1), [valid, valid]]) {
        const answer = await callTraced(wrong, {'x-request-id': 'untraced'});
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.json.result, 'untraced');
        assert.equal(answer.headers.traceresponse, undefined);
    }
});

await passes('who chooses the id of a request does not choose the conversation of its calls', async () => {
    const body = {role: 'assistant', content: null, tool_calls: [{id: '1', type: 'function', function: {name: 'low', arguments: '{}'}}]};
    const made = async () => (await ask('GET', '/api/log?tool=low', {token: boss})).json.calls
        .map((call) => call.conversation).filter((conversation) => conversation?.startsWith('rest:'));
    const before = (await made()).length;
    for (let i = 0; i < 2; i++) {
        const answer = await ask('POST', '/api/answer?format=openai', {body, headers: {'x-request-id': 'one-for-two'}});
        assert.equal(answer.status, 200, answer.text);
    }
    const conversations = await made();
    assert.equal(conversations.length, before + 2);
    assert.equal(new Set(conversations).size, conversations.length, conversations.join());
    assert.ok(!conversations.includes('rest:one-for-two'), conversations.join());
});

await passes('a URL that is too long, and one that cannot be read, are refused', async () => {
    checkProblem(await ask('GET', `/api/tools?name=${'x'.repeat(3000)}`), 414, 'LimitExceeded');
    checkProblem(await ask('GET', '/api/tools/%zz'), 400, 'Invalid');
    checkProblem(await ask('GET', '/api/none'), 404, 'NotFound');
});

await passes('tools are listed by priority, and what the command switches is seen by the next request', async () => {
    const names = async (query = '') => (await ask('GET', `/api/tools${query}`)).json.tools.map((tool) => tool.id);
    const all = await names();
    assert.equal(all[0], 'high');
    assert.ok(all.includes('off') && all.includes('says') === false && all.includes('listens'));
    const priorities = (await ask('GET', '/api/tools')).json.tools.map((tool) => tool.priority);
    assert.deepEqual(priorities, priorities.toSorted((a, b) => b - a));
    const before = await ask('GET', '/api/tools');
    assert.equal((await ask('GET', '/api/tools', {headers: {'if-none-match': before.headers.etag}})).status, 304);
    command('disable', 'low');
    assert.ok((await names('?enabled=false')).includes('low'));
    const after = await ask('GET', '/api/tools', {headers: {'if-none-match': before.headers.etag}});
    assert.equal(after.status, 200);
    assert.equal(after.json.tools.find((tool) => tool.id === 'low').enabled, false);
    command('enable', 'low');
});

await passes('a tool that is not there is told in one way, whatever the route', async () => {
    for (const [method, path, body] of [['GET', '/api/tools/xxx'], ['PATCH', '/api/tools/xxx', {enabled: true}], ['POST', '/api/tools/xxx/call', {}],
                                        ['GET', '/api/statistics?tool=xxx'], ['POST', '/api/grants', {tool: 'xxx'}], ['DELETE', '/api/grants/xxx'],
                                        ['PUT', '/api/lists/blacklist/xxx', {}], ['DELETE', '/api/lists/blacklist/xxx'],
                                        ['POST', '/api/feedback', {tool: 'xxx', feedback: 'bad'}]]) {
        const answer = await ask(method, path, {body, token: boss});
        checkProblem(answer, 404, 'NotFound');
        assert.equal(answer.json.detail, "Tool 'xxx' not found", `${method} ${path}`);
    }
});

await passes('who has a part of the tools is told of the versions in that part', async () => {
    const {secret} = (await ask('POST', '/api/tokens', {body: {name: 'part', tools: ['low']}, token: boss})).json;
    for (const [name, message] of [['low@9.0.0', "Tool 'low' has no version '9.0.0'; it has 1.0.0"],
                                   ['high', "Tool 'high' not found; GET /api/tools shows what there is"],
                                   ['high@1.0.0', "Tool 'high' not found; GET /api/tools shows what there is"],
                                   ['hgih', "Tool 'hgih' not found; GET /api/tools shows what there is"]]) {
        const answer = await ask('GET', `/api/tools/${name}`, {token: secret});
        checkProblem(answer, 404, 'NotFound');
        assert.equal(answer.json.error.message, message);
        assert.equal(answer.json.suggestions, undefined);
    }
    assert.equal((await ask('DELETE', '/api/tokens/part', {token: boss})).status, 200);
});

await passes('the error of a failure is the object that the command prints', async () => {
    for (const [name, body] of [['nothing', '{}'], ['lwo', '{}'], ['low@^9', '{}'], ['off', '{}'], ['low', '[1'],
                                ['wrong', '{}'], ['placeless', '{}'], ['wreck', '{}']]) {
        const answer = await ask('POST', `/api/tools/${encodeURIComponent(name)}/call`, {body});
        assert.deepEqual(answer.json.error, failure('call', '--json', name, body), name);
    }
    assert.deepEqual((await ask('GET', '/api/log/99', {token: boss})).json.error.type, 'NotFound');
    assert.deepEqual((await ask('DELETE', '/api/tokens/nobody', {token: boss})).json.error, failure('token', 'revoke', 'nobody', '--json'));
    assert.deepEqual((await ask('POST', '/api/feedback', {body: {tool: 'nothing', feedback: 'good'}, token: boss})).json.error,
                     failure('feedback', 'nothing', 'good', '--json'));
});

await passes('a call as an event stream has progress, log lines and then the result', async () => {
    const stream = listen('POST', '/api/tools/listens/call?timeout_ms=400', {body: {}});
    assert.equal((await stream.opened()).headers['content-type'], 'text/event-stream');
    assert.deepEqual((await stream.next()).json, {progress: {done: 1, total: 2, message: 'under way'}});
    const last = (await stream.next()).json;
    checkSchema('Problem', last);
    assert.equal(last.error.type, 'Timeout');
    assert.equal(await stream.next(), null);
    const lines = listen('POST', '/api/tools/logs/call', {body: {}});
    assert.equal((await lines.next()).json.log.level, 'error');
    assert.ok('result' in (await lines.next()).json);
    assert.equal(await lines.next(), null);
});

await passes('a call whose client leaves is cancelled', async () => {
    const stream = listen('POST', '/api/tools/listens/call', {body: {}, headers: {'x-request-id': 'left-alone'}});
    await stream.next();
    stream.close();
    for (;;) {
        const {calls} = (await ask('GET', '/api/log?tool=listens&limit=5', {token: boss})).json;
        const call = calls.find((one) => one.trace === 'left-alone');
        if (call) {
            assert.equal(call.error.type, 'Cancelled');
            assert.equal(call.channel, 'rest');
            break;
        }
    }
});

const poll = async (path, options, until) => {
    for (let answer; ;) {
        answer = await ask('GET', path, options);
        if (answer.status !== 200 || until(answer.json)) {
            return answer;
        }
    }
};

await passes('a call that is wanted as a task is answered with it, and its result is asked for', async () => {
    const made = await ask('POST', '/api/tools/low/call', {body: {}, token: user, headers: {prefer: 'respond-async, wait=10'}});
    assert.equal(made.status, 202, made.text);
    checkSchema('Task', made.json);
    assert.equal(made.headers['preference-applied'], 'respond-async');
    const where = made.headers.location;
    assert.equal(where, `/api/tasks/${made.json.taskId}`);
    const done = await poll(where, {token: user}, (task) => task.status !== 'working');
    checkSchema('Task', done.json);
    assert.equal(done.json.status, 'completed');
    assert.deepEqual(done.json.result.result, {a: 1});
    checkProblem(await ask('GET', where), 404, 'NotFound');
    assert.deepEqual((await ask('GET', '/api/tasks')).json.tasks, []);
    assert.equal((await ask('GET', where, {token: boss})).json.owner, made.json.owner);
    checkProblem(await ask('DELETE', where), 404, 'NotFound');
    const removed = await ask('DELETE', where, {token: user});
    checkSchema('TaskDeleted', removed.json);
    assert.deepEqual(removed.json, {taskId: made.json.taskId, removed: true});
    checkProblem(await ask('GET', where, {token: user}), 404, 'NotFound');
    checkProblem(await ask('DELETE', where, {token: user}), 404, 'NotFound');
});

await passes('a task that failed says where, as a refusal does', async () => {
    const made = await ask('POST', '/api/tools/wrong/call', {body: {}, token: user, headers: {prefer: 'respond-async'}});
    const done = await poll(made.headers.location, {token: user}, (task) => task.status !== 'working');
    assert.equal(done.json.status, 'failed');
    assert.equal(done.json.error.field, '/town');
    assert.equal(done.json.statusMessage, '/town: there is no such town');
});

await passes('what the arguments refuse is told at once, and is no task', async () => {
    const tasks = async () => (await ask('GET', '/api/tasks', {token: user})).json.tasks.length;
    const before = await tasks();
    for (const [name, body] of [['typed', {a: 'x'}], ['typed', '[1'], ['typed', '[]'], ['typed', '{"a":1,"a":2.5}'], ['typed', '{"b":[{"c":1,"\\u0063":1}]}']]) {
        const trace = `refused-${JSON.stringify(body).length}`;
        const [soon, later] = [{}, {prefer: 'respond-async', 'x-request-id': trace}];
        const [one, other] = [await ask('POST', `/api/tools/${name}/call`, {body, token: user, headers: soon}),
            await ask('POST', `/api/tools/${name}/call`, {body, token: user, headers: later})];
        checkProblem(other, 422, 'InvalidArguments');
        assert.deepEqual(other.json, one.json);
        assert.equal(other.headers['preference-applied'], undefined);
        const {calls} = (await ask('GET', '/api/log?tool=typed&limit=5', {token: boss})).json;
        assert.equal(calls.find((call) => call.trace === trace)?.error.type, 'InvalidArguments');
    }
    assert.equal(await tasks(), before);
});

await passes('a task says how far its call is', async () => {
    const made = await ask('POST', '/api/tools/listens/call', {body: {}, token: user, headers: {prefer: 'respond-async'}});
    const told = await poll(made.headers.location, {token: user}, (task) => task.statusMessage !== null);
    checkSchema('Task', told.json);
    assert.equal(told.json.status, 'working');
    assert.equal(told.json.statusMessage, 'under way (1 of 2)');
    const ended = await ask('DELETE', made.headers.location, {token: user});
    assert.equal(ended.json.status, 'cancelled');
});

await passes('what is no preference for a task makes none', async () => {
    for (const prefer of ['wait=10', 'x=respond-async', 'x="a, respond-async"', 'x="\\", respond-async"', 'wait=10; respond-async', 'respond-asynchronous']) {
        assert.equal((await ask('POST', '/api/tools/low/call', {body: {}, headers: {prefer}})).status, 200, prefer);
    }
    for (const prefer of [', Respond-Async', 'x="a, b", respond-async', 'respond-async; a=b', 'respond-async=1']) {
        assert.equal((await ask('POST', '/api/tools/low/call', {body: {}, token: user, headers: {prefer}})).status, 202, prefer);
    }
});

await passes('a list on several lines is one list', async () => {
    for (const prefer of [['respond-async', 'wait=1'], ['wait=1', 'respond-async'], ['', 'respond-async', 'wait=1', 'x'], ['respond-async', ',']]) {
        assert.equal((await ask('POST', '/api/tools/low/call', {body: {}, token: user, headers: {prefer}})).status, 202, prefer);
    }
    assert.equal((await ask('POST', '/api/tools/low/call', {body: {}, token: user, headers: {prefer: ['x=1', 'wait=1']}})).status, 200);
    const {etag} = (await ask('GET', '/api/tools')).headers;
    for (const tags of [[etag, '"x"'], ['"x"', etag, 'W/"y"'], [`"x", ${etag}`, '"y"']]) {
        assert.equal((await ask('GET', '/api/tools', {headers: {'if-none-match': tags}})).status, 304, tags);
    }
    assert.equal((await ask('GET', '/api/tools', {headers: {'if-none-match': ['"x"', '"y"']}})).status, 200);
});

await passes('a task is cancelled by its owner, and by another process', async () => {
    for (const how of ['rest', 'command']) {
        const made = await ask('POST', '/api/tools/listens/call', {body: {}, token: user, headers: {prefer: 'respond-async', 'x-request-id': `task-${how}`}});
        if (how === 'rest') {
            const cancelled = await ask('DELETE', made.headers.location, {token: user});
            assert.equal(cancelled.json.status, 'cancelled', cancelled.text);
        } else {
            command('tasks', 'cancel', made.json.taskId);
        }
        const ended = await poll('/api/log?tool=listens&limit=20', {token: boss}, ({calls}) => calls.some((one) => one.trace === `task-${how}`));
        assert.equal(ended.json.calls.find((one) => one.trace === `task-${how}`).error.type, 'Cancelled');
        assert.equal((await ask('GET', made.headers.location, {token: user})).json.status, 'cancelled');
        checkProblem(await ask('DELETE', made.headers.location, {token: user}), 400, 'Invalid');
    }
});

await passes('a task ends with the token that began it', async () => {
    const brief = command('token', 'add', 'brief').trim();
    const made = await ask('POST', '/api/tools/listens/call', {body: {}, token: brief, headers: {prefer: 'respond-async'}});
    command('token', 'revoke', 'brief');
    const ended = await poll(made.headers.location, {token: boss}, (task) => task.status !== 'working');
    assert.equal(ended.json.status, 'failed');
    assert.match(ended.json.error.message, /revoked/);
});

await passes('a body that most readers of JSON do not take is refused, and waits for nobody', async () => {
    const nested = (levels) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    for (const levels of [129, 1_000_000]) {
        for (const headers of [{}, {prefer: 'respond-async'}]) {
            const deep = await ask('POST', '/api/tools/asks/call', {body: nested(levels), token: user, headers});
            checkProblem(deep, 422, 'InvalidArguments');
            assert.match(deep.json.detail, /nested deeper than 128 levels/);
        }
        for (const [method, path] of [['POST', '/api/answer?format=openai'], ['PATCH', '/api/tools/low'], ['POST', '/api/tokens'],
            ['POST', '/api/reload'], ['POST', '/api/session']]) {
            const deep = await ask(method, path, {body: nested(levels), token: boss});
            checkProblem(deep, 400, 'Invalid');
            assert.match(deep.json.detail, /nested deeper than 128 levels/, path);
        }
        for (const path of ['/api/approvals', '/api/log?tool=asks&limit=10']) {
            const shown = await ask('GET', path, {token: boss});
            assert.ok(!shown.text.replaceAll(/"(\\.|[^"\\])*"/g, '').includes('[[['), shown.text.slice(0, 400));
        }
    }
    assert.equal((await ask('POST', '/api/tools/low/call', {body: nested(128)})).status, 200);
});

await passes('a confirm tool waits for an administrator that is not its caller', async () => {
    checkProblem(await ask('POST', '/api/tools/asks/call', {body: {}, token: boss}), 409, 'ConfirmationRequired');
    const twice = await ask('POST', '/api/tools/asks/call', {body: '{"to":"mallory","to":"bob"}', token: boss});
    checkProblem(twice, 422, 'InvalidArguments');
    assert.equal(twice.json.error.field, '/to', twice.text);
    const waiting = (await ask('GET', '/api/approvals', {token: boss})).json.approvals.filter((one) => one.caller.startsWith('token:boss'));
    assert.equal(waiting.length, 1);
    const [mine] = waiting;
    assert.equal(mine.arguments_text, '{}');
    checkProblem(await ask('POST', `/api/approvals/${mine.id}`, {body: {answer: 'once'}, token: boss}), 403, 'PermissionDenied');
    const allowed = await ask('POST', `/api/approvals/${mine.id}`, {body: {answer: 'once'}, peer: true});
    assert.equal(allowed.status, 200, allowed.text);
    checkSchema('Answered', allowed.json);
    assert.deepEqual((await ask('POST', '/api/tools/asks/call', {body: {}, token: boss})).json.result, {a: 1});
    checkProblem(await ask('POST', '/api/tools/asks/call', {body: {}, token: boss}), 409, 'ConfirmationRequired');
});

await passes('a decision says whose it is: the token, whatever the route', async () => {
    append('says');
    await ask('POST', '/api/plugins/says/reload', {body: {}, token: boss});
    const done = [await ask('PATCH', '/api/tools/other', {body: {enabled: false, priority: 5, default: '1.0.0'}, token: boss}),
        await ask('PATCH', '/api/tools/other', {body: {enabled: true, default: ''}, token: boss}),
        await ask('POST', '/api/plugins/says/rollback', {body: {}, token: boss})];
    done.forEach((answer) => assert.equal(answer.status, 200, answer.text));
    const of = async (what) => (await ask('GET', `/api/decisions?${what}`, {token: boss})).json.decisions;
    const made = [...await of('tool=other&limit=5'), ...await of('plugin=says&limit=2')]
        .filter((one) => ['enabled', 'disabled', 'prioritized', 'chosen', 'rolled-back'].includes(one.decision));
    assert.deepEqual([...new Set(made.map((one) => one.decision))].sort(), ['chosen', 'disabled', 'enabled', 'prioritized', 'rolled-back'], JSON.stringify(made));
    made.forEach((one) => assert.equal(one.who, 'token boss', JSON.stringify(one)));
});

await passes('who ends a quarantine is recorded', async () => {
    const state = async () => (await ask('GET', '/api/plugins/says', {token: boss})).json.state;
    for (let i = 0; i < 3; i++) {
        assert.equal((await ask('POST', '/api/tools/leaks/call', {body: {how: 'crash'}})).status, 500);
    }
    await poll('/api/plugins/says', {token: boss}, (plugin) => plugin.state === 'quarantined');
    checkProblem(await ask('POST', '/api/plugins/says/release', {body: {}, token: user}), 403, 'PermissionDenied');
    assert.equal(await state(), 'quarantined');
    const released = await ask('POST', '/api/plugins/says/release', {body: {}, token: boss});
    assert.equal(released.status, 200, released.text);
    checkSchema('Done', released.json);
    assert.notEqual(await state(), 'quarantined');
    const {decisions} = (await ask('GET', '/api/decisions?plugin=says&limit=10', {token: boss})).json;
    const [made] = decisions.filter((one) => one.decision === 'released');
    assert.equal(made?.who, 'token boss', JSON.stringify(decisions));
});

await passes('who is shown a part of the tools calls these, and sends no messages of models', async () => {
    const part = command('token', 'add', 'part', '--profile', 'few').trim();
    assert.equal((await ask('POST', '/api/tools/low/call', {body: {}, token: part})).status, 200);
    checkProblem(await ask('POST', '/api/tools/high/call', {body: {}, token: part}), 404, 'NotFound');
    checkProblem(await ask('POST', '/api/answer?format=openai', {body: {role: 'assistant', content: ''}, token: part}), 403, 'PermissionDenied');
});

await passes('events come as they happen, and those that were missed when the client comes back', async () => {
    const toggle = (on) => ask('PATCH', '/api/tools/high', {body: {enabled: on}, token: boss});
    const first = listen('GET', '/api/events', {token: boss});
    const start = await first.next();
    assert.equal(start.data, '');
    await toggle(false);
    const told = await first.next();
    checkSchema('Event', told.json);
    assert.equal(told.json.kind, 'changed');
    assert.equal(told.json.tool, 'high');
    first.close();
    await toggle(true);
    await toggle(false);
    await toggle(true);
    const again = listen('GET', '/api/events', {peer: true, headers: {'last-event-id': told.id}});
    for (const on of ['enabled', 'disabled', 'enabled']) {
        assert.match((await again.next()).json.message, new RegExp(`^${on}`));
    }
    again.close();
    for (const id of ['0000000000000000-1', `${told.id}99`, 'x', '']) {
        const lost = listen('GET', '/api/events', {token: boss, headers: {'last-event-id': id}});
        assert.equal((await lost.next()).json.kind, 'missed');
        lost.close();
    }
});

await passes('the log is followed, and nothing is missed over a lost connection', async () => {
    const follow = (headers) => listen('GET', '/api/log?tool=low', {token: boss, headers});
    const stream = follow();
    await stream.next();
    await ask('POST', '/api/tools/low/call', {body: {}, headers: {'x-request-id': 'followed-1'}});
    const one = await stream.next();
    checkSchema('Call', one.json);
    assert.equal(one.json.trace, 'followed-1');
    stream.close();
    command('call', 'low', '{}', '--trace', 'followed-2');
    await ask('POST', '/api/tools/low/call', {body: {}, headers: {'x-request-id': 'followed-3'}});
    const back = follow({'last-event-id': one.id});
    await back.next();
    const seen = [(await back.next()).json.trace, (await back.next()).json.trace].sort();
    assert.deepEqual(seen, ['followed-2', 'followed-3']);
    back.close();
});

await passes('there are so many tokens and no more', async () => {
    const store = new DatabaseSync(database, {timeout: 30_000});
    const {count} = store.prepare('SELECT count(*) AS count FROM tokens').get();
    const fill = store.prepare(`INSERT INTO tokens SELECT 'full-' || ?1, 'full-' || ?1, randomblob(32), 0, 0, NULL, NULL, 0, created_s, 0, who
        FROM tokens WHERE name = 'user'`);
    store.exec('BEGIN IMMEDIATE');
    for (let i = count; i < 1024; i++) {
        fill.run(i);
    }
    store.exec('COMMIT');
    const full = await ask('POST', '/api/tokens', {body: {name: 'one-more'}, token: boss});
    checkProblem(full, 429, 'LimitExceeded');
    assert.equal(full.headers['retry-after'], '1');
    store.exec("DELETE FROM tokens WHERE name LIKE 'full-%'");
    store.close();
    assert.equal((await ask('POST', '/api/tokens', {body: {name: 'one-more'}, token: boss})).status, 201);
});

await passes('a client is told to come again only if its call has not begun', async () => {
    const full = await ask('POST', '/api/tools/full/call', {body: {}});
    checkProblem(full, 422, 'LimitExceeded');
    assert.equal(full.headers['retry-after'], undefined);
    const {responses} = operations.find((one) => one.operationId === 'callTool');
    assert.deepEqual([422, 429].map((status) => responses[status]?.description.includes('LimitExceeded')), [true, true]);
    const rpc = await ask('POST', '/mcp', {body: {jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name: 'full', arguments: {}, _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}}},
        headers: {accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'full'}});
    const [{text}] = rpc.json.result.content;
    assert.match(text, /^LimitExceeded: .*\.\nIt may have taken effect: check before you call the tool again, with less/, rpc.text);
});

await passes('a body that is too long is refused', async () => {
    checkProblem(await ask('POST', '/api/tools/low/call', {body: {}, headers: {'content-length': 80_000_000}}), 413, 'LimitExceeded');
});

await passes('each tool of the list has a uid, and each call of the log an id and a time', async () => {
    const {tools} = (await ask('GET', '/api/tools', {token: boss})).json;
    assert.equal(new Set(tools.map((tool) => tool.uid)).size, tools.length, 'uid is of one registration');
    const {calls} = (await ask('GET', '/api/log?limit=1000', {token: boss})).json;
    assert.ok(calls.length > 20);
    assert.equal(new Set(calls.map((call) => call.id)).size, calls.length);
    assert.ok(calls.every((call) => call.time_ms > 1_700_000_000_000));
});

await passes('a server that ends says that it runs, and that it takes no more', async () => {
    const running = listen('POST', '/api/tools/listens/call', {body: {}});
    await running.next();
    terminate();
    for (const end = Date.now() + 30_000; (await ask('GET', '/readyz')).status === 200;) {
        assert.ok(Date.now() < end, 'it stays ready');
    }
    checkProblem(await ask('GET', '/readyz'), 503, 'Cancelled');
    const health = await ask('GET', '/healthz');
    assert.equal(health.status, 200, health.text);
    checkSchema('Status', health.json);
    checkProblem(await ask('GET', '/api/tools'), 503);
    running.close();
    await ended();
});

await passes('what a server that ends cuts off is answered, and says so', async () => {
    await start();
    const stream = listen('POST', '/api/tools/listens/call', {body: {}});
    await stream.next();
    const message = {jsonrpc: '2.0', id: 7, method: 'tools/call', params: {name: 'listens', arguments: {}, _meta: {progressToken: 1,
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}}};
    const rpc = listen('POST', '/mcp', {body: message, headers: {accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'listens'}});
    await rpc.next();
    const whole = ask('POST', '/api/tools/listens/call', {body: {}});
    const task = await ask('POST', '/api/tools/listens/call', {body: {}, headers: {prefer: 'respond-async'}});
    assert.equal(task.status, 202, task.text);
    terminate();
    for (const end = Date.now() + 30_000; (await ask('GET', '/readyz')).status === 200;) {
        assert.ok(Date.now() < end, 'it stays ready');
    }
    terminate();
    const cut = await whole;
    checkProblem(cut, 503, 'Cancelled');
    assert.match(cut.json.detail, /the server ended before/);
    assert.equal(cut.headers['retry-after'], undefined, 'its call has begun');
    let last;
    for (let event; (event = await stream.next()) !== null; last = event.json);
    assert.deepEqual([last.status, last.error?.type], [503, 'Cancelled'], JSON.stringify(last));
    for (let event; (event = await rpc.next()) !== null; last = event.json);
    assert.equal(last.id, 7, JSON.stringify(last));
    assert.match(last.error.message, /the server ended before/);
    await ended();
});

await passes('a rollback to what may not run any more is refused, and changes nothing', async () => {
    configure({tools: [mock('low')]});
    await start();
    assert.equal((await ask('POST', '/api/tools/prints/call', {body: {}})).status, 200);
    exchange('prints', 'minimal');
    assert.equal((await ask('POST', '/api/reload', {body: {}, token: boss})).json.files.find((file) => file.plugin === 'minimal').outcome, 'reloaded');
    await stop();
    configure({tools: [mock('low')], require_sandbox: true, policies: {prints: {isolation: 'none'}}});
    await start();
    const refused = await ask('POST', '/api/plugins/prints.so/rollback', {body: {}, token: boss});
    checkProblem(refused, statusOf({responses: document.paths['/api/plugins/{name}/rollback'].post.responses}, 'Refused'), 'Refused');
    assert.equal(refused.status, 409);
    assert.match(refused.json.detail, /the sandbox is required/);
    const {plugins} = (await ask('GET', '/api/plugins', {token: boss})).json;
    assert.ok(plugins.some((plugin) => plugin.id === 'minimal' && plugin.state === 'listed'), JSON.stringify(plugins));
    const {decisions} = (await ask('GET', '/api/decisions?plugin=minimal', {token: boss})).json;
    assert.deepEqual(decisions.filter((one) => one.decision === 'rolled-back'), []);
});

await passes('a tool that is held is as if it were not there, but for an administrator', async () => {
    for (const description of ['Gives this', 'Gives that']) {
        await stop();
        configure({pin: 'enforce', tools: [mock('held', {permission: 'dangerous', description})]});
        await start();
        if (description === 'Gives this') {
            const granted = await ask('POST', '/api/grants', {body: {tool: 'held'}, token: boss});
            assert.equal(granted.status, 200, granted.text);
        }
    }
    assert.equal((await ask('GET', '/api/tools/held', {token: boss})).json.state, 'changed');
    for (const name of ['held', 'held@1.0.0', 'held@%5E1', 'held@9']) {
        const answer = await ask('GET', `/api/tools/${name}`, {token: user});
        checkProblem(answer, 404, 'NotFound');
        assert.match(answer.json.error.message, /^Tool 'held' not found; /, name);
        assert.doesNotMatch(answer.text, /1\.0\.0.*1\.0\.0|it has/);
    }
    const told = await ask('GET', '/api/tools/held@9', {token: boss});
    assert.match(told.json.error.message, /it has 1\.0\.0/);
});

await finish();
