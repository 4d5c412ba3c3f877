// plans.mjs - the installed schema of plans: a validator of others takes each plan of the documents and of the tests, and refuses what
// the reader refuses, of a plan with all that one can have in which one place after the other is made wrong.
import assert from 'node:assert/strict';
import Ajv from 'ajv/dist/2020.js';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {ask, command, finish, passes, prepare, start} from './server.mjs';

const source = process.env.REST_SOURCE;
const read = (...parts) => readFileSync(join(source, ...parts), 'utf8');
prepare({}, []);
const boss = command('token', 'add', 'boss', '--admin').trim();
await start();

const ajv = new Ajv({strict: false, allErrors: true});
const isPlan = ajv.compile(JSON.parse(read('host/plan/toolrack-plan.schema.json')));

// What the schema is about; the other findings are about tools, references and the graph.
const ofSchema = ['plan-value', 'plan-missing', 'plan-key'];
const refusals = async (text) => {
    const {status, json} = await ask('POST', '/api/plans/check', {body: text, token: boss});
    assert.equal(status, 200, JSON.stringify(json));
    return json.findings.filter(({id, severity}) => severity === 'error' && ofSchema.includes(id));
};

/** Both say the same of a plan; whether they take it. */
async function agree(plan, what) {
    const valid = isPlan(plan);
    const found = await refusals(JSON.stringify(plan));
    assert.equal(found.length === 0, valid, `${what}: the schema says ${valid ? 'valid' : ajv.errorsText(isPlan.errors)}, ` +
        `the reader ${JSON.stringify(found)}`);
    return valid;
}

// --------------------------------------------------------------------------------------- right plans

// Blocks of JSON in the documents that are plans; those with comments are no JSON.
const blocks = (file) => [...read(file).matchAll(/^```json[^\n]*\n(.*?)^```$/gms)].map(([, text]) => text)
    .filter((text) => /^\s*\{[^]*"nodes"\s*:/.test(text));
const documented = ['README.md', 'host/README.md'].flatMap((file) => blocks(file).map((text) => [file, text]));
const tested = readdirSync(join(source, 'tests/e2e/user-plans')).map((name) => [name, read('tests/e2e/user-plans', name)]);

await passes('the plans of the documents and of the tests are valid', async () => {
    assert.ok(documented.length > 0 && tested.length > 5);
    for (const [name, text] of [...documented, ...tested]) {
        assert.ok(await agree(JSON.parse(text), name), name);
    }
});

await passes('its examples are valid', async () => {
    for (const example of JSON.parse(read('host/plan/toolrack-plan.schema.json')).examples) {
        assert.ok(await agree(example, JSON.stringify(example)));
    }
});

// --------------------------------------------------------------------------------------- wrong plans

const whole = {
    $schema: 'toolrack-plan.schema.json', name: 'whole', description: 'All that a plan can have', on_error: 'skip',
    deadline_ms: 60000, parallel: 2, inputs: {n: {type: 'integer', default: 1}, any: true},
    nodes: [
        {id: 'a', tool: 'add@1.0.0', arguments: {a: 1}, depends_on: [], on_error: 'retry',
         retry: {attempts: 2, delay_ms: 1, max_delay_ms: 2, force: true}, deadline_ms: 5000},
        {id: 'b', tool: 'add', when: {value: {$ref: '#/inputs/any'}, is: {const: 1}}, on_error: {fallback: {value: 0}},
         for_each: {items: [1], max_items: 2, parallel: 1}, depends_on: ['a']},
        {id: 'c', tool: 'add', when: {$ref: '#/inputs/any'}, for_each: {$ref: '#/inputs/any'},
         on_error: {fallback: {tool: 'add', arguments: {}}}},
    ],
    result: {$ref: '#/nodes/a/result'},
};

/** Every place of a value, as keys from the root. */
const places = (value, path = []) => [path, ...(value !== null && typeof value === 'object'
    ? Object.keys(value).flatMap((key) => places(value[key], [...path, key])) : [])];

/** A copy in which `change` has been done to what holds a place. */
function changed(path, change) {
    const copy = structuredClone({root: whole});
    const keys = ['root', ...path];
    change(keys.slice(0, -1).reduce((at, key) => at[key], copy), keys.at(-1));
    return copy.root;
}

const others = [null, true, false, -1, 0, 1, 1.5, 4e9, '', 'x', 'x y', 'y'.repeat(300), [], [1], ['a', 'a'], {}, {x: 1}];

await passes('what is whole is valid', async () => assert.ok(await agree(whole, 'whole')));

let taken = 0;
let refused = 0;
const count = (valid) => { taken += valid ? 1 : 0; refused += valid ? 0 : 1; };
for (const path of places(whole)) {
    const name = `/${path.join('/')}`;
    await passes(`another value at ${name}`, async () => {
        for (const other of others) {
            count(await agree(changed(path, (holder, key) => { holder[key] = other; }), `${name} is ${JSON.stringify(other)}`));
        }
        if (path.length > 0) {
            count(await agree(changed(path, (holder, key) => {
                Array.isArray(holder) ? holder.splice(key, 1) : delete holder[key];
            }), `${name} is left out`));
            count(await agree(changed(path, (holder, key) => {
                if (!Array.isArray(holder)) {
                    holder[`${key}_more`] = holder[key];
                }
            }), `${name} has a neighbour`));
        }
    });
}
await passes('plans of both kinds were among them', () => assert.ok(taken > 300 && refused > 300, `${taken} taken, ${refused} refused`));
await finish();
