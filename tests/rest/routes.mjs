// routes.mjs - every route of the document, where it succeeds and where it is refused: what comes back is as the
// document says, which a validator of others finds sound.
import assert from 'node:assert/strict';
import {Validator} from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv/dist/2020.js';
import {ask, command, finish, passes, serve, start} from './server.mjs';

const mock = (name, more = {}) => ({name, type: 'function', description: `Gives ${name}`,
    parameters: {type: 'object', properties: {}}, implementation: {type: 'mock', mock_response: {a: 1}}, ...more});
await serve({tools: [mock('low', {priority: 1, tags: ['t'], category: 'c'}), mock('high', {priority: 900}),
                     mock('asks', {permission: 'confirm'})]}, []);
const boss = command('token', 'add', 'boss', '--admin').trim();
const user = command('token', 'add', 'user').trim();
command('call', 'low', '{}');
await start();

const document = (await ask('GET', '/api/openapi.json')).json;
const ajv = new Ajv({strict: false, allErrors: true});
ajv.addSchema({...document, $id: 'doc'}, 'doc');
const schemaOf = (name) => ajv.getSchema(`doc#/components/schemas/${name}`) ?? ajv.compile({$ref: `doc#/components/schemas/${name}`});

const operations = Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods)
    .map(([method, operation]) => ({path, method: method.toUpperCase(), ...operation})));

// What each operation needs to succeed, and where it fails with the types that it states.
const cases = {
    getHealth: [{}],
    getReadiness: [{}],
    getDocument: [{}],
    listTools: [{}, {query: 'enabled=true&tag=t'}, {query: 'plugin=low'}],
    getTool: [{parts: {name: 'low'}}, {parts: {name: 'low@1.0.0'}}, {parts: {name: 'nothing'}, fails: 'NotFound'}],
    exportTools: [...['openai', 'openai-responses', 'anthropic', 'gemini', 'ollama', 'mcp'].map((format) => ({parts: {format}})),
        {parts: {format: 'mcp'}, query: 'allow=low,nothing&limit=1&budget=1000'}, {parts: {format: 'none'}, fails: 'NotFound'}],
    recommendTools: [{}, {query: 'task=low&limit=1'}],
    listPlugins: [{}],
    explainPlugin: [{parts: {name: 'low'}}, {parts: {name: 'nothing'}, fails: 'NotFound'}],
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

const statusOf = (operation, type) => Number(Object.entries(operation.responses)
    .find(([, response]) => response.description.split(', ').includes(type))?.[0]);

await passes('the document is sound, says a validator of OpenAPI', async () => {
    const result = await new Validator().validate(structuredClone(document));
    assert.ok(result.valid, JSON.stringify(result.errors));
});

await passes('each operation has its cases, and each case is of one', async () => {
    assert.deepEqual(operations.map((one) => one.operationId).sort(), Object.keys(cases).sort());
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
            assert.equal(answer.headers['content-type'], 'application/json');
            checkSchema(response.content['application/json'].schema.$ref.split('/').pop(), answer.json);
        });
    }
    await passes(`${method} ${path} refuses what is wrong in its form`, async () => {
        checkProblem(await send(operation, {...cases[operationId]?.[0], query: 'no-such-parameter=1'}), 400, 'Invalid');
        checkProblem(await send(operation, {}, {headers: {accept: 'text/html'}}), 406);
        checkProblem(await send(operation, {}, {headers: {origin: 'https://evil.example'}}), 403);
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
        const one = cases[operationId]?.find((other) => !other.fails);
        const statusWith = async (more) => (await send(operation, one, more)).status;
        const wrongToken = await send(operation, one, {token: `trk_${'0'.repeat(64)}`});
        if (operation['x-class'] === 'public') {
            assert.equal(wrongToken.status, 200);
            return;
        }
        checkProblem(wrongToken, 401, 'PermissionDenied');
        if (operation['x-class'] === 'admin') {
            const nobody = await send(operation, one, {token: undefined});
            checkProblem(nobody, 401, 'PermissionDenied');
            assert.match(nobody.headers['www-authenticate'], /^Bearer /);
            checkProblem(await send(operation, one, {token: user}), 403, 'PermissionDenied');
            assert.ok(await statusWith({token: undefined, peer: true}) < 300);
        } else {
            assert.ok(await statusWith({token: user}) < 300);
        }
    });
    if (method === 'GET') {
        await passes(`HEAD ${path} has no body`, async () => {
            const one = cases[operationId]?.find((other) => !other.fails);
            const [head, get] = [await ask('HEAD', targetOf(operation, one), {token: boss}), await send(operation, one, {token: boss})];
            assert.equal(head.status, get.status);
            assert.equal(head.text, '');
            assert.equal(head.headers['content-type'], get.headers['content-type']);
        });
    } else if (withBody(operation)) {
        await passes(`${method} ${path} takes JSON and nothing else`, async () => {
            checkProblem(await send(operation, {}, {headers: {'content-type': 'text/plain'}}), 415);
            checkProblem(await send(operation, {}, {headers: {'content-type': 'application/x-www-form-urlencoded'}}), 415);
            checkProblem(await send(operation, {}, {headers: {'content-type': undefined}}), 415);
        });
    }
}

await passes('ids of requests are those of the client, if a log can have them', async () => {
    assert.equal((await ask('GET', '/healthz', {headers: {'x-request-id': 'a-B_c.1'}})).headers['x-request-id'], 'a-B_c.1');
    for (const id of ['', 'a b', 'x'.repeat(65), 'a"b', 'ä']) {
        const answer = await ask('GET', '/healthz', {headers: {'x-request-id': Buffer.from(id).toString('latin1')}});
        assert.match(answer.headers['x-request-id'], /^[0-9a-f]{16}$/);
    }
});

await passes('a URL that is too long, and one that cannot be read, are refused', async () => {
    checkProblem(await ask('GET', `/api/tools?name=${'x'.repeat(3000)}`), 414, 'LimitExceeded');
    checkProblem(await ask('GET', '/api/tools/%zz'), 400, 'Invalid');
    checkProblem(await ask('GET', '/api/none'), 404, 'NotFound');
});

await passes('tools are listed by priority, and what the command switches is seen by the next request', async () => {
    const names = async (query = '') => (await ask('GET', `/api/tools${query}`)).json.tools.map((tool) => tool.id);
    assert.deepEqual(await names(), ['high', 'asks', 'low']);
    const before = await ask('GET', '/api/tools');
    assert.equal((await ask('GET', '/api/tools', {headers: {'if-none-match': before.headers.etag}})).status, 304);
    command('disable', 'low');
    assert.deepEqual(await names('?enabled=false'), ['low']);
    const after = await ask('GET', '/api/tools', {headers: {'if-none-match': before.headers.etag}});
    assert.equal(after.status, 200);
    assert.equal(after.json.tools.find((tool) => tool.id === 'low').enabled, false);
    command('enable', 'low');
});

await finish();
