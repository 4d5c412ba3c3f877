// loops.mjs - what the official SDKs of the providers make of our formats.
//
// Each SDK has a conversation of two turns with the fake provider: it gets the tools from `toolrack
// export`, its parsed message goes through `toolrack answer`, and what that gives goes into its second
// request. Then the compiler of TypeScript looks at both as literals of the SDKs' types, and at each
// request that `toolrack agent` sends, and the SDKs' own rewriting of schemas at the schemas. The tools
// of the official servers of MCP become definitions within the limits of each format.
import {spawn, spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import {transformJSONSchema} from '@anthropic-ai/sdk/lib/transform-json-schema';
import {GoogleGenAI} from '@google/genai';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import {Ollama} from 'ollama';
import OpenAI from 'openai';
import {toStrictJsonSchema} from 'openai/lib/transform';

const state = mkdtempSync(join(tmpdir(), 'toolrack-sdk-'));
const formats = ['openai', 'openai-responses', 'anthropic', 'gemini', 'ollama'];

function run(program, args, input = '') {
    const child = spawnSync(program, args, {input, encoding: 'utf8', maxBuffer: 1 << 28});
    assert.equal(child.status, 0, child.stderr);
    return JSON.parse(child.stdout);
}
const toolrack = (args, input, plugins = process.env.E2E_PLUGINS) =>
    run(process.env.E2E_TOOLRACK, ['--config=', '--state', state, '--plugins', plugins, ...args], input);
const exported = (format) => toolrack(['export', '--format', format]);
const bundled = (format) => toolrack(['export', '--format', format], '', process.env.SDK_BUNDLED);
const answered = (format, message) => toolrack(['answer', '--format', format], JSON.stringify(message));

// -------------------------------------------------------------------- cases

let count = 0;
let bad = 0;
async function passes(name, check) {
    count++;
    try {
        await check();
        console.log(`ok ${count} - ${name}`);
    } catch (error) {
        bad++;
        console.log(`not ok ${count} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '# ')}`);
    }
}

// ------------------------------------------------------------------ provider

async function startProvider() {
    const child = spawn(process.execPath, [process.env.E2E_PROVIDER], {stdio: ['pipe', 'pipe', 'inherit']});
    const port = await new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data).trim())));
    return {url: `http://127.0.0.1:${port}`, stop: () => child.stdin.end()};
}

// --------------------------------------------------------------------- loops

// The texts of the conversation's end; each must tell the sum, which only the tool can have told.
const task = {role: 'user', content: 'What is 2 + 3?'};
const model = 'two-turn';
const options = {apiKey: 'none', maxRetries: 0};

async function loopOpenai(url, stream) {
    const client = new OpenAI({...options, baseURL: `${url}/v1`});
    const tools = exported('openai');
    const ask = async (messages) => (stream
        ? client.chat.completions.stream({model, messages, tools}).finalChatCompletion()
        : client.chat.completions.create({model, messages, tools}));
    const {message} = (await ask([task])).choices[0];
    assert.equal(message.tool_calls.length, 1);
    return (await ask([task, message, ...answered('openai', message)])).choices[0].message.content;
}

async function loopResponses(url, stream) {
    const client = new OpenAI({...options, baseURL: `${url}/v1`});
    const tools = exported('openai-responses');
    const ask = async (input) => (stream ? client.responses.stream({model, input, tools}).finalResponse()
                                         : client.responses.create({model, input, tools}));
    const {output} = await ask([task]);
    const appended = answered('openai-responses', output);
    assert.deepEqual(appended, answered('openai-responses', {output}));
    return (await ask([task, ...output, ...appended])).output_text;
}

async function loopAnthropic(url, stream) {
    const client = new Anthropic({...options, baseURL: url});
    const tools = exported('anthropic');
    const ask = async (messages) => {
        const request = {model, max_tokens: 100, messages, tools};
        return stream ? client.messages.stream(request).finalMessage() : client.messages.create(request);
    };
    const message = await ask([task]);
    assert.equal(message.stop_reason, 'tool_use');
    const {role, content} = message;
    return (await ask([task, {role, content}, ...answered('anthropic', message)])).content[0].text;
}

async function loopGemini(url, stream) {
    const client = new GoogleGenAI({apiKey: 'none', httpOptions: {baseUrl: url}});
    const tools = exported('gemini');
    const ask = async (contents) => {
        const request = {model, contents, config: {tools}};
        if (!stream) {
            return (await client.models.generateContent(request)).candidates[0].content;
        }
        const parts = [];
        for await (const chunk of await client.models.generateContentStream(request)) {
            parts.push(...chunk.candidates[0].content.parts);
        }
        return {role: 'model', parts};
    };
    const begin = {role: 'user', parts: [{text: task.content}]};
    const content = await ask([begin]);
    assert.equal(content.parts[0].functionCall.name, 'add');
    return (await ask([begin, content, ...answered('gemini', content)])).parts.map((part) => part.text).join('');
}

async function loopOllama(url, stream) {
    const client = new Ollama({host: url});
    const tools = exported('ollama');
    const ask = async (messages) => {
        if (!stream) {
            return (await client.chat({model, messages, tools})).message;
        }
        const whole = {role: 'assistant', content: '', tool_calls: []};
        for await (const {message} of await client.chat({model, messages, tools, stream: true})) {
            whole.content += message.content;
            whole.tool_calls.push(...(message.tool_calls ?? []));
        }
        return whole;
    };
    const message = await ask([task]);
    return (await ask([task, message, ...answered('ollama', message)])).content;
}

async function checkLoops() {
    const loops = {openai: loopOpenai, 'openai-responses': loopResponses, anthropic: loopAnthropic, gemini: loopGemini,
                   ollama: loopOllama};
    const provider = await startProvider();
    for (const [format, loop] of Object.entries(loops)) {
        for (const stream of [false, true]) {
            await passes(`${format}: two turns${stream ? ', streamed' : ''}`, async () => {
                assert.match(await loop(provider.url, stream), /^The sum is 5(\.0)?\.$/);
            });
        }
    }
    provider.stop();
}

// --------------------------------------------------------------------- types

// The type of Ollama's SDK has no objects within the arguments, though its server takes them.
const isFlat = (tool) => Object.values(tool.function.parameters.properties ?? {})
    .every((property) => property.properties === undefined && property.items?.properties === undefined);
const typed = (format) => (format === 'ollama' ? exported(format).filter(isFlat) : exported(format));

// A message of each provider that calls a tool.
const messages = {
    openai: {role: 'assistant', content: null,
             tool_calls: [{id: 'c1', type: 'function', function: {name: 'add', arguments: '{"a":2,"b":3}'}}]},
    'openai-responses': [{type: 'function_call', id: 'f1', call_id: 'c1', name: 'add', arguments: '{"a":2,"b":3}'}],
    anthropic: {role: 'assistant', content: [{type: 'tool_use', id: 'c1', name: 'add', input: {a: 2, b: 3}},
                                             {type: 'tool_use', id: 'c2', name: 'picture', input: {}}]},
    gemini: {role: 'model', parts: [{functionCall: {id: 'c1', name: 'add', args: {a: 2, b: 3}}}]},
    ollama: {role: 'assistant', content: '', tool_calls: [{function: {name: 'add', arguments: {a: 2, b: 3}}}]},
};

const types = {
    openai: ['OpenAI.ChatCompletionTool', 'OpenAI.ChatCompletionMessageParam'],
    'openai-responses': ['OpenAI.Responses.Tool', 'OpenAI.Responses.ResponseInputItem'],
    anthropic: ['Anthropic.Tool', 'Anthropic.MessageParam'],
    gemini: ['GeminiTool', 'GeminiContent'],
    ollama: ['OllamaTool', 'OllamaMessage'],
};

const imports = `import type OpenAI from 'openai';
import type Anthropic from '@anthropic-ai/sdk';
import type {Tool as GeminiTool, Content as GeminiContent, GenerationConfig, ToolConfig} from '@google/genai';
import type {Tool as OllamaTool, Message as OllamaMessage, ChatRequest} from 'ollama';
`;

function writeLiteral(name, type, literal) {
    writeFileSync(`${name}.ts`, `${imports}export const literal: ${type}[] = ${JSON.stringify(literal, null, 1)};\n`);
    return name;
}

// What the compiler has against each of the files: one run, as it takes seconds to begin.
function compile(names) {
    const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit', '--strict', '--skipLibCheck',
                                             '--module', 'nodenext', '--target', 'es2022', '--pretty', 'false',
                                             ...names.map((name) => `${name}.ts`)], {encoding: 'utf8'});
    assert.equal(tsc.error, undefined);
    const lines = tsc.stdout.split('\n');
    return (name) => {
        return lines.filter((line) => line.startsWith(`${name}.ts(`)).join('\n');
    };
}

async function checkTypes() {
    const names = formats.flatMap((format) => {
        const [tool, message] = types[format];
        const wrong = JSON.parse(JSON.stringify(typed(format)).replace('"name":', '"nome":'));
        return [writeLiteral(`tools-${format}`, tool, typed(format)),
                writeLiteral(`results-${format}`, message, answered(format, messages[format])),
                writeLiteral(`wrong-${format}`, tool, wrong)];
    });
    const errors = compile(names);
    for (const format of formats) {
        await passes(`${format}: definitions have the SDK's type`, () => assert.equal(errors(`tools-${format}`), ''));
        await passes(`${format}: results have the SDK's type`, () => assert.equal(errors(`results-${format}`), ''));
        await passes(`${format}: a wrong member is noticed`, () => assert.match(errors(`wrong-${format}`), /error TS.*nome/s));
    }
}

// ------------------------------------------------------------------ requests

// What a request is by the SDK's own types. That of Gemini's is what its SDK makes of its arguments.
const requestTypes = {
    openai: 'OpenAI.ChatCompletionCreateParams',
    'openai-responses': 'OpenAI.Responses.ResponseCreateParams',
    anthropic: 'Anthropic.MessageCreateParams',
    gemini: `{contents: GeminiContent[]; tools?: GeminiTool[]; systemInstruction?: GeminiContent;
              generationConfig?: GenerationConfig; toolConfig?: ToolConfig}`,
    ollama: 'ChatRequest',
};

// Conversations with one call, with calls side by side, with those that cannot be made, and without any.
const parts = ['two-turn', 'parallel', 'bad-arguments', 'wrong-tool', 'text-only'];

// Where arguments are an object, a model cannot send half a text.
const isObject = (format) => ['gemini', 'ollama'].includes(format);
// Anthropic's SDK knows no temperature any more.
const parameter = (format) => (format === 'anthropic' ? 'max_tokens=500' : 'temperature=0.5');
// The server of Ollama sends and takes an index in calls, which the type of its SDK does not have.
const withoutIndex = (text) => text.replace(/"index":\d+,/g, '');

async function requestsOf(provider, format) {
    await fetch(`${provider.url}/requests`, {method: 'DELETE'});
    for (const part of parts.filter((part) => part !== 'bad-arguments' || !isObject(format))) {
        const child = spawn(process.env.E2E_TOOLRACK,
                            ['--config=', '--state', state, '--plugins', process.env.E2E_PLUGINS, 'agent', '--endpoint',
                             provider.url, '--format', format, '--model', part, '--allow', 'add,greet', '--parameter',
                             parameter(format), '--system', 'Be brief.', 'What is 2 + 3?'], {stdio: 'ignore'});
        await new Promise((resolve) => child.once('close', resolve));
    }
    const requests = await (await fetch(`${provider.url}/requests`)).json();
    return requests.map(({body}) => (format === 'ollama' ? JSON.parse(withoutIndex(JSON.stringify(body))) : body));
}

async function checkRequests() {
    const provider = await startProvider();
    const requests = {};
    for (const format of formats) {
        requests[format] = await requestsOf(provider, format);
    }
    provider.stop();
    const names = formats.flatMap((format) => {
        const wrong = JSON.parse(JSON.stringify(requests[format]).replaceAll('"role":', '"roll":'));
        return [writeLiteral(`requests-${format}`, requestTypes[format], requests[format]),
                writeLiteral(`wrong-requests-${format}`, requestTypes[format], wrong)];
    });
    const errors = compile(names);
    for (const format of formats) {
        await passes(`${format}: each request of the agent has the SDK's type`, () => {
            assert.ok(requests[format].length >= 7, `only ${requests[format].length} requests`);
            assert.equal(errors(`requests-${format}`), '');
            assert.match(errors(`wrong-requests-${format}`), /error TS/);
        });
    }
}

// ------------------------------------------------------------------- schemas

// What the SDKs do to schemas must leave ours usable: OpenAI's throws at what strict mode refuses.
// A tool may leave the type of a value open, which is against strict mode alone: few do, but for the bundled ones that work
// on any JSON, or compare with any value.
const isOpen = (tool, error) => tool.strict !== true && /must have a type defined/.test(error.message);

function checkEach(tools, schemaOf, transform) {
    const open = [];
    const wrong = tools.flatMap((tool) => {
        try {
            assert.equal(transform(structuredClone(schemaOf(tool))).type, 'object');
            return [];
        } catch (error) {
            if (isOpen(tool, error)) {
                open.push(tool.name);
                return [];
            }
            return [`${tool.name}: ${error.message}: ${JSON.stringify(schemaOf(tool))}`];
        }
    });
    assert.deepEqual(wrong, []);
    console.log(`# ${tools.length} schemas, ${open.length} of them with a value of any type`);
    const others = open.filter((name) => !/^(csv|json)_/.test(name));
    assert.ok(others.length * 20 <= tools.length, `of any type: ${others}`);
}

async function checkSchemas(name, definitionsOf) {
    await passes(`${name}: OpenAI's SDK accepts what is strict`, () => {
        const definitions = definitionsOf('openai');
        assert.ok(definitions.some((definition) => definition.function.strict));
        checkEach(definitions.map((definition) => definition.function).filter((tool) => tool.strict),
                  (tool) => tool.parameters, toStrictJsonSchema);
        assert.throws(() => toStrictJsonSchema({type: 'object', properties: {a: {type: 'string'}}, required: []}));
    });
    await passes(`${name}: Anthropic's SDK accepts all schemas`, () => {
        checkEach(definitionsOf('anthropic'), (tool) => tool.input_schema, transformJSONSchema);
    });
}

// Tools as others wrote them, in the shapes in which they did.
function readWild(file) {
    const schemaOf = (tool) => tool.parameters ?? tool.inputSchema ?? tool.input_parameters ?? tool.arguments;
    return readFileSync(file, 'utf8').split('\n').filter((line) => line !== '').map((line) => {
        const {tool} = JSON.parse(line);
        const inner = tool.function ?? tool;
        const schema = schemaOf(inner);
        return {name: inner.slug ?? inner.name, description: inner.description, schema: !Array.isArray(schema) ? schema : {
            type: 'object', properties: Object.fromEntries(schema.map(({name, type}) => [name, {type: type ?? 'string'}])),
        }};
    });
}

// So many at a time that no provider's limit cuts any.
const atOnce = 100;

async function checkWild() {
    const file = process.env.SDK_WILD;
    if (!existsSync(file)) {
        count++;
        console.log(`ok ${count} - tools of others # SKIP there is no ${file}`);
        return;
    }
    const tools = readWild(file);
    await checkSchemas(`${tools.length} tools of others`, (format) => {
        const definitions = [];
        for (let at = 0; at < tools.length; at += atOnce) {
            definitions.push(...run(process.env.SDK_DEFINE, [format], JSON.stringify(tools.slice(at, at + atOnce))));
        }
        assert.ok(definitions.length > tools.length * 0.98, `only ${definitions.length} are defined`);
        return definitions;
    });
}

// The official servers of MCP, and how many tools each has at least.
const servers = {'server-everything': 10, 'server-filesystem': 14, 'server-memory': 9, 'server-sequential-thinking': 1};

async function toolsOf(server) {
    const about = JSON.parse(readFileSync(`node_modules/@modelcontextprotocol/${server}/package.json`, 'utf8'));
    const program = join('node_modules/@modelcontextprotocol', server, Object.values(about.bin)[0]);
    const transport = new StdioClientTransport({command: process.execPath, stderr: 'ignore',
                                                args: [program, ...(server === 'server-filesystem' ? [state] : [])]});
    const client = new Client({name: 'tests', version: '1'});
    await client.connect(transport);
    const {tools} = await client.listTools();
    await client.close();
    return tools.map(({name, description, inputSchema}) => ({name, description, schema: inputSchema}));
}

async function checkServers() {
    const limits = run(process.env.SDK_DEFINE, ['limits']);
    const tools = [];
    for (const [server, least] of Object.entries(servers)) {
        const own = await toolsOf(server);
        assert.ok(own.length >= least, `${server} has ${own.length} tools`);
        tools.push(...own);
    }
    const defined = (format) => run(process.env.SDK_DEFINE, [format], JSON.stringify(tools));
    for (const format of [...formats, 'mcp']) {
        await passes(`${format}: the tools of the official servers are within its limits`, () => {
            const list = format === 'gemini' ? defined(format)[0].functionDeclarations
                                             : defined(format).map((definition) => definition.function ?? definition);
            assert.equal(list.length, tools.length);
            assert.equal(new Set(list.map((definition) => definition.name)).size, tools.length);
            for (const definition of list) {
                const schema = definition.parameters ?? definition.input_schema ?? definition.inputSchema
                    ?? definition.parametersJsonSchema;
                assert.match(definition.name, new RegExp(limits[format].name));
                assert.ok(limits[format].description === 0 || [...definition.description].length <= limits[format].description);
                for (const key of Object.keys(schema.properties ?? {})) {
                    assert.match(key, new RegExp(limits[format].key));
                }
            }
        });
    }
    await checkSchemas('tools of the official servers', defined);
}

await checkLoops();
await checkTypes();
await checkRequests();
await checkServers();
await checkSchemas('test tools', exported);
await checkSchemas('bundled tools', bundled);
await checkWild();
rmSync(state, {recursive: true});
console.log(`1..${count}`);
process.exit(bad > 0 ? 1 : 0);
