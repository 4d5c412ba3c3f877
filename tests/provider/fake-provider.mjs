// fake-provider.mjs - a provider of models on loopback that plays scripted parts.
//
// It speaks the five formats, streamed or whole, as their types have it, and knows no more of the
// tools than what a request says. Which part it plays is the name of the model; what it says
// depends on the results that the request holds. It prints its port on one line, and ends when its
// standard input does.
//
// GET /requests gives what it was sent: an array of path, headers, body, its text, and whether the client
// went away before the response ended. DELETE /requests forgets them, and which parts have failed.
import http from 'node:http';
import zlib from 'node:zlib';

// ------------------------------------------------------------------ formats
// Each format: which path it has, whether a request wants a stream, the results in a request (texts
// or values), and an answer {text, calls: [{name, args}]} as stream or whole. Arguments that are a
// string are sent as they are where the format has them as text.

const sse = (data, event) =>
    (event ? `event: ${event}\n` : '') + `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const argumentsText = (args) => (typeof args === 'string' ? args : JSON.stringify(args));
const halves = (text) => {
    const middle = Math.ceil(text.length / 2);
    return [text.slice(0, middle), text.slice(middle)];
};
// The blocks of an answer's text: most have one, a list are as many.
const blocksOf = (text) => [text ?? ''].flat().filter((block) => block !== '');
// Texts of JSON become what they stand for.
const valueOf = (content) => {
    const text = Array.isArray(content) ? content.map((block) => block.text ?? '').join('') : content;
    if (typeof text !== 'string') {
        return text;
    }
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
};

const openai = {
    path: /^(\/v1)?\/chat\/completions$/,
    streams: (body) => body.stream === true,
    results: (body) => body.messages.filter((m) => m.role === 'tool').map((m) => valueOf(m.content)),
    tasks: (body) => body.messages.filter((m) => m.role === 'user').map((m) => m.content),
    hasResults: (body) => body.messages.at(-1).role === 'tool',
    calls: (answer) => answer.calls.map((call, index) => ({
        index, id: `call_${answer.turn}_${index}`, type: 'function',
        function: {name: call.name, arguments: argumentsText(call.args)},
    })),
    reason: (answer) => answer.reason ?? ({length: 'length', filter: 'content_filter'}[answer.end] ?? (answer.calls.length > 0 ? 'tool_calls' : 'stop')),
    whole(answer, body) {
        const calls = this.calls(answer).map(({index, ...call}) => call);
        const message = {role: 'assistant', content: answer.text || null, refusal: null};
        return {
            id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: body.model,
            choices: [{index: 0, finish_reason: this.reason(answer), logprobs: null,
                       message: calls.length > 0 ? {...message, tool_calls: calls} : message}],
            usage: {prompt_tokens: 1, completion_tokens: 1, total_tokens: 2},
        };
    },
    stream(answer, body) {
        const chunk = (delta, reason = null) => sse({
            id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: body.model,
            choices: [{index: 0, delta, finish_reason: reason}],
        });
        const out = [chunk({role: 'assistant', content: ''})];
        if (answer.reasons) {
            out.push(chunk({reasoning: 'Let me think.'}));
        }
        for (const text of Array.isArray(answer.text) ? answer.text : []) {
            out.push(chunk({content: [{type: 'text', text}]}), chunk({content: [{type: 'image_url', image_url: {url: 'data:,'}}]}));
        }
        for (const piece of answer.text && !Array.isArray(answer.text) ? halves(answer.text) : []) {
            out.push(chunk({[answer.end === 'refusal' ? 'refusal' : 'content']: piece}));
        }
        const calls = this.calls(answer);
        for (const call of calls) {
            out.push(chunk({tool_calls: [{...call, function: {...call.function, arguments: ''}}]}));
        }
        // The pieces of parallel calls come mixed.
        for (const half of [0, 1]) {
            for (const call of calls) {
                out.push(chunk({tool_calls: [{index: call.index,
                                              function: {arguments: halves(call.function.arguments)[half]}}]}));
            }
        }
        out.push(chunk({}, this.reason(answer)));
        if (body.stream_options?.include_usage && !answer.uncounted) {
            out.push(sse({id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [],
                          usage: {prompt_tokens: 1200, completion_tokens: 30, total_tokens: 1230,
                                  prompt_tokens_details: {cached_tokens: 512}, completion_tokens_details: {reasoning_tokens: 10}}}));
        }
        out.push(sse('[DONE]'));
        return out;
    },
};

const responses = {
    reasons: {length: 'max_output_tokens', filter: 'content_filter'},
    path: /^(\/v1)?\/responses$/,
    streams: (body) => body.stream === true,
    results: (body) => (Array.isArray(body.input) ? body.input : [])
        .filter((item) => item.type === 'function_call_output').map((item) => valueOf(item.output)),
    tasks: (body) => body.input.filter((item) => item.role === 'user').map((item) => item.content),
    hasResults: (body) => body.input.at(-1).type === 'function_call_output',
    items(answer, body) {
        const items = answer.calls.map((call, index) => ({
            type: 'function_call', id: `fc_${answer.turn}_${index}`, call_id: `call_${answer.turn}_${index}`,
            name: call.name, arguments: argumentsText(call.args), status: 'completed',
        }));
        // What the model thought, for who keeps it himself.
        if ((answer.thinks || answer.thought) && body.include?.includes('reasoning.encrypted_content')) {
            items.unshift({type: 'reasoning', id: `rs_${answer.turn}`, summary: [], encrypted_content: `thought ${answer.turn}`});
        }
        return [...blocksOf(answer.text).map((text, index) => ({
            type: 'message', id: `msg_${answer.turn}_${index}`, role: 'assistant', status: 'completed',
            content: [answer.end === 'refusal' ? {type: 'refusal', refusal: text}
                                               : {type: 'output_text', text, annotations: [], logprobs: []}],
        })), ...items];
    },
    whole(answer, body) {
        return {
            id: `resp_${answer.turn}`, object: 'response', created_at: 1, status: this.reasons[answer.end] ? 'incomplete' : 'completed',
            model: body.model, error: null,
            incomplete_details: this.reasons[answer.end] ? {reason: this.reasons[answer.end]} : null, instructions: null, metadata: {}, parallel_tool_calls: true,
            temperature: 1, top_p: 1, tool_choice: 'auto', tools: [], output: this.items(answer, body),
        };
    },
    stream(answer, body) {
        let number = 0;
        const event = (type, data) => sse({type, sequence_number: number++, ...data}, type);
        const response = this.whole(answer, body);
        const out = [event('response.created', {response: {...response, status: 'in_progress', output: []}})];
        this.items(answer, body).forEach((item, output_index) => {
            const at = {item_id: item.id, output_index};
            if (item.type === 'message') {
                out.push(event('response.output_item.added',
                               {output_index, item: {...item, status: 'in_progress', content: []}}));
                out.push(event('response.content_part.added', {...at, content_index: 0,
                               part: {...item.content[0], text: ''}}));
                const text = item.content[0].text ?? item.content[0].refusal;
                for (const delta of halves(text)) {
                    out.push(event(answer.end === 'refusal' ? 'response.refusal.delta' : 'response.output_text.delta', {...at, content_index: 0, delta, logprobs: []}));
                }
                out.push(event('response.output_text.done', {...at, content_index: 0, text, logprobs: []}));
                out.push(event('response.content_part.done', {...at, content_index: 0, part: item.content[0]}));
            } else if (item.type === 'reasoning') {
                out.push(event('response.output_item.added', {output_index, item}));
            } else {
                out.push(event('response.output_item.added',
                               {output_index, item: {...item, status: 'in_progress', arguments: ''}}));
                for (const delta of halves(item.arguments)) {
                    out.push(event('response.function_call_arguments.delta', {...at, delta}));
                }
                out.push(event('response.function_call_arguments.done', {...at, name: item.name, arguments: item.arguments}));
            }
            out.push(event('response.output_item.done', {output_index, item}));
        });
        out.push(event(`response.${response.status}`, {response}));
        return out;
    },
};

const anthropic = {
    path: /^\/v1\/messages$/,
    streams: (body) => body.stream === true,
    results: (body) => body.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : []))
        .filter((block) => block.type === 'tool_result').map((block) => valueOf(block.content)),
    tasks: (body) => body.messages.filter((m) => m.role === 'user' && m.content[0].type === 'text').map((m) => m.content[0].text),
    hasResults: (body) => body.messages.at(-1).content[0]?.type === 'tool_result',
    blocks(answer) {
        const blocks = answer.calls.map((call, index) => ({
            type: 'tool_use', id: `toolu_${answer.turn}_${index}`, name: call.name, input: call.args,
        }));
        blocks.unshift(...blocksOf(answer.text).map((text) => ({type: 'text', text})));
        return answer.thought ? [{type: 'thinking', thinking: answer.thought, signature: `sig-${answer.turn}`}, ...blocks] : blocks;
    },
    whole(answer, body) {
        return {
            id: `msg_${answer.turn}`, type: 'message', role: 'assistant', model: body.model, content: this.blocks(answer),
            stop_reason: {length: 'max_tokens', refusal: 'refusal'}[answer.end] ?? (answer.calls.length > 0 ? 'tool_use' : 'end_turn'),
            stop_sequence: null,
            usage: {input_tokens: 1, output_tokens: 1},
        };
    },
    stream(answer, body) {
        const event = (type, data) => sse({type, ...data}, type);
        const whole = this.whole(answer, body);
        const out = [event('message_start', {message: {...whole, content: [], stop_reason: null}}), event('ping', {})];
        whole.content.forEach((block, index) => {
            const text = block.type === 'text';
            if (block.type === 'thinking') {
                out.push(event('content_block_start', {index, content_block: {...block, thinking: '', signature: ''}}),
                         event('content_block_delta', {index, delta: {type: 'thinking_delta', thinking: block.thinking}}),
                         event('content_block_delta', {index, delta: {type: 'signature_delta', signature: block.signature}}),
                         event('content_block_stop', {index}));
                return;
            }
            out.push(event('content_block_start', {index, content_block: text ? {...block, text: ''} : {...block, input: {}}}));
            for (const piece of halves(text ? block.text : argumentsText(block.input))) {
                out.push(event('content_block_delta', {index, delta: text ? {type: 'text_delta', text: piece}
                                                                          : {type: 'input_json_delta', partial_json: piece}}));
            }
            out.push(event('content_block_stop', {index}));
        });
        out.push(event('message_delta', {delta: {stop_reason: whole.stop_reason, stop_sequence: null}, usage: {output_tokens: 1}}),
                 event('message_stop', {}));
        return out;
    },
};

const gemini = {
    path: /^\/v1(?:beta)?\/models\/([^/:]+):(generateContent|streamGenerateContent)$/,
    model: (match) => decodeURIComponent(match[1]),
    streams: (body, match) => match[2] === 'streamGenerateContent',
    results: (body) => body.contents.flatMap((content) => content.parts).filter((part) => part.functionResponse)
        .map((part) => valueOf(part.functionResponse.response.output ?? part.functionResponse.response)),
    tasks: (body) => body.contents.filter((content) => content.role === 'user' && content.parts[0].text !== undefined)
        .map((content) => content.parts[0].text),
    hasResults: (body) => body.contents.at(-1).parts[0].functionResponse !== undefined,
    response: (parts, reason) => ({
        candidates: [{index: 0, content: {role: 'model', parts}, ...(reason ? {finishReason: reason} : {})}],
        usageMetadata: {promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2}, modelVersion: 'fake',
    }),
    // Of parallel calls the first has the signature.
    calls: (answer) => answer.calls.map((call, index) => ({
        functionCall: {id: `fn_${answer.turn}_${index}`, name: call.name, args: call.args},
        ...(index === 0 ? {thoughtSignature: 'c2lnbmVk'} : {}),
    })),
    reason: (answer) => answer.reason ?? ({length: 'MAX_TOKENS', safety: 'SAFETY', malformed: 'MALFORMED_FUNCTION_CALL', other: 'LANGUAGE'}[answer.end] ?? 'STOP'),
    whole(answer) {
        return this.response([...(answer.text ? [{text: answer.text}] : []), ...this.calls(answer)], this.reason(answer));
    },
    stream(answer) {
        if (answer.end === 'blocked') {
            return [sse({promptFeedback: {blockReason: 'PROHIBITED_CONTENT'}})];
        }
        return [...(answer.thought ? [sse(this.response([{text: answer.thought, thought: true}]))] : []),
                ...(Array.isArray(answer.text) ? answer.text.map((text) => ({text, thoughtSignature: 'c2lnbmVk'}))
                    : blocksOf(answer.text).flatMap(halves).map((text) => ({text}))).map((part) => sse(this.response([part]))),
                ...this.calls(answer).map((part) => sse(this.response([part]))),
                sse(this.response([{text: '', ...(answer.thought ? {thoughtSignature: `dGhv${answer.turn}`} : {})}], this.reason(answer)))];
    },
};

const ollama = {
    path: /^\/api\/chat$/,
    streams: (body) => body.stream !== false,
    results: (body) => body.messages.filter((m) => m.role === 'tool').map((m) => valueOf(m.content)),
    tasks: (body) => body.messages.filter((m) => m.role === 'user').map((m) => m.content),
    hasResults: (body) => body.messages.at(-1).role === 'tool',
    line: (body, message, done, reason = 'stop') => ({
        model: body.model, created_at: '2026-01-01T00:00:00Z', message: {role: 'assistant', content: '', ...message}, done,
        ...(done ? {done_reason: reason, total_duration: 1, eval_count: 1} : {}),
    }),
    calls: (answer) => answer.calls.map((call, index) => ({function: {index, name: call.name, arguments: call.args}})),
    whole(answer, body) {
        const calls = this.calls(answer);
        return this.line(body, {content: answer.text ?? '', ...(calls.length > 0 ? {tool_calls: calls} : {})}, true);
    },
    stream(answer, body) {
        const messages = [...(answer.thought ? [{thinking: answer.thought}] : []),
                          ...(answer.text ? halves(answer.text) : []).map((content) => ({content})),
                          ...this.calls(answer).map((call) => ({tool_calls: [call]}))];
        return [...messages.map((message) => this.line(body, message, false)), this.line(body, {}, true, answer.end)]
            .map((line) => `${JSON.stringify(line)}\n`);
    },
};

const formats = [openai, responses, anthropic, gemini, ollama];

// -------------------------------------------------------------------- parts

const sum = (results) => `The sum is ${results.map((value) => JSON.stringify(value)).join(' and ')}.`;
const add = (a, b) => ({name: 'add', args: {a, b}});
// The calls first, and once there are results, a text about them.
const twoTurns = (calls, text = '') => (results) =>
    (results.length === 0 ? {text, calls} : {text: sum(results), calls: []});

const plan = (nodes, more = {}) => ({name: 'run_plan', args: {plan: {nodes, ...more}}});
const planned = [{id: 'a', tool: 'add', arguments: {a: 2, b: 3}},
                 {id: 'b', tool: 'add', arguments: {a: {$ref: '#/nodes/a/result'}, b: 4}}];
// One after the other, and at last what the last of them gave.
const inTurn = (...calls) => (results) =>
    (results.length < calls.length ? {text: '', calls: [calls[results.length]]}
                                   : {text: `Last: ${JSON.stringify(results.at(-1))}`, calls: []});

// Two tables are summed, drawn and told of in a file: what a model does with the bundled tools.
const reports = (results) => {
    const sums = (path, as) => ({name: 'csv_aggregate', args: {
        path, group_by: ['product'], order_by: [{column: 'product'}], aggregates: [{function: 'sum', column: 'amount', as}]}});
    const rows = results.slice(1, 3).map((table) => table.rows);
    const write = (path, content) => ({name: 'write_file', args: {path, content}});
    switch (results.length) {
        case 0: return {text: '', calls: [{name: 'list_directory', args: {path: '.'}}]};
        case 1: return {text: '', calls: [sums('north.csv', 'north'), sums('south.csv', 'south')]};
        case 3: return {text: '', calls: [{name: 'chart_bar', args: {
            columns: ['product', 'north', 'south'], rows: rows[0].map(([product, north], at) => [product, north, rows[1][at][1]]),
            title: 'Sales by product', y_label: 'EUR', format: 'svg'}}]};
        case 4: return {text: '', calls: [write('sales.svg', results[3]), write('report.md', [
            '# Sales by product', '', '| product | north | south |', '|---|---|---|',
            ...rows[0].map(([product, north], at) => `| ${product} | ${north} | ${rows[1][at][1]} |`), '', '![chart](sales.svg)', ''].join('\n'))]};
        default: return {text: 'The south sells more coffee, the north more tea. See report.md and sales.svg.', calls: []};
    }
};

// What a person types decides: a sum, a slow call, another ending, or what was typed so far.
const converse = (results, key, {tasks, hasResults}) => {
    const task = tasks.at(-1);
    const does = {add: add(2, 3), slow: {name: 'slow', args: {}}, erase: {name: 'erase', args: {}},
                  book, read: read({id: 1, offset: 255, length: 2})}[task.split(' ')[0]];
    const end = {refuse: 'refusal', cut: 'length'}[task];
    return hasResults ? {thought: 'It is done.', text: sum(results.slice(-1)), calls: []}
        : does ? {thought: 'Let me think.', text: 'Let me do it. ', calls: [does]}
        : end ? {text: 'It is fo', calls: [], end}
        : {thought: 'No tool.', text: `${tasks.length}: ${task}`, calls: []};
};

// A tool of the test's configuration with a long result, and what reads that.
const book = {name: 'book', args: {}};
const read = (args, name = 'read_result') => ({name, args});

const overloaded = sse({type: 'error', error: {type: 'overloaded_error', message: 'Overloaded'}}, 'error');

// What each model says to the results that a request holds; `how` are the ways in which it is sent.
const parts = {
    'two-turn': {say: twoTurns([add(2, 3)])},
    'converses': {say: converse},
    'reports': {say: reports},
    'talks': {say: twoTurns([add(2, 3)], 'Let me add them: é ☃ 😀\n')},
    // Why an answer is none, or not whole.
    'length': {say: () => ({text: 'It is fo', calls: [], end: 'length'})},
    'length-in-calls': {say: (results) => (results.length === 0 ? {text: '', calls: [add(2, 3), {name: 'add', args: '{"a":'}], end: 'length'}
                                                                : {text: sum(results), calls: []})},
    'refusal': {say: () => ({text: 'I will not.', calls: [], end: 'refusal'})},
    'filtered': {say: () => ({text: 'It is', calls: [add(2, 3)], end: 'filter'})},
    'unsafe': {say: () => ({text: 'It is', calls: [add(2, 3)], end: 'safety'})},
    'blocked': {say: () => ({text: '', calls: [], end: 'blocked'})},
    'malformed': {say: () => ({text: '', calls: [], end: 'malformed'})},
    'empty': {say: () => ({text: ' \n', calls: []})},
    'odd-reason': {say: () => ({text: 'Fine.', calls: [], end: 'other'})},
    'new-reason': {say: () => ({text: 'Fine.', calls: [], reason: 'a_new_word'})},
    'stops-calls': {say: () => ({text: 'Fine.', calls: [add(2, 3)], reason: 'OTHER'})},
    // In an error, at the place where it is cut off, and as the name of a member.
    'cuts-key': {event: (key) => `data: ["${'x'.repeat(45)}${key}"]\n\n`},
    'names-key': {event: (key) => `data: {"${key}":1,"${key}":2}\n\n`},
    'prompt-filtered': {fails: Array(20).fill([400, {}, {code: 'content_filter', message: 'the prompt is filtered'}])},
    // They know the key, say it, and call a tool with it.
    'tells-key': {say: (results, key) => (results.length === 0 ? {text: `The key is ${key}.\n`, calls: [{name: 'echo', args: {text: key}}]}
                                                               : {text: `${key}${key} ${JSON.stringify(results[0])}`, calls: []}), how: 'cut'},
    // Half of the key in each of two blocks, and in each of two arguments.
    'tells-halves': {say: (results, key) => ({text: ['It is ' + halves(key)[0], halves(key)[1] + '.'],
                                              calls: results.length === 0 ? [{name: 'echo', args: {text: halves(key)[0], more: halves(key)[1]}}] : []})},
    // Half of the key in the text, and half of it in an argument: they are not in this order in every format's message.
    'parts-key': {say: (results, key) => (results.length === 0 ? {text: `It is ${halves(key)[0]}`, calls: [{name: 'echo', args: {text: halves(key)[1]}}]}
                                                               : {text: 'Fine.', calls: [], reason: halves(key)[1]})},
    'ends-with-key': {say: (results, key) => ({text: 'Fine.', calls: [], reason: key})},
    'counts-nothing': {say: twoTurns([add(2, 3)]), fails: [[400, {}, {message: "Unrecognized request argument supplied: stream_options"}]]},
    'counts-last': {say: (results) => ({...twoTurns([add(2, 3)])(results), uncounted: results.length === 0})},
    'text-only': {say: () => ({text: 'Nothing to do.', calls: []})},
    'parallel': {say: twoTurns([add(2, 3), {name: 'greet', args: {name: 'Ada', loud: true}}, add(4, 5), add(40, 2)])},
    'odd-cuts': {say: twoTurns([add(2, 3)], 'Let me add them: é ☃ 😀\n'), how: 'cut'},
    'broken-stream': {say: twoTurns([add(2, 3)], 'Let me add'), how: 'break'},
    'late-break': {say: twoTurns([add(2, 3)]), how: 'late break'},
    'no-end': {say: twoTurns([add(2, 3)], 'Let me add'), how: 'no end'},
    'no-stream': {say: twoTurns([add(2, 3)]), how: 'garbage'},
    'endless': {say: (results) => ({text: '', calls: [add(results.length, 1)]})},
    // Blocks of Markdown, and what must not reach a terminal.
    'writes': {say: () => ({text: '# Title\n\nA *first* and **strong** text with `code`, a [link](https://example.com/a) and <https://example.com>.\n' +
        'The paragraph goes on: \u001b[31mred\u001b[0m &#27;[2J &amp; \u200b \u009b1m.\n\n' +
        '```c\nint main(void) {\n\treturn 0; // ' + 'long '.repeat(20) + '\n}\n```\n\n' +
        '1. One\n2. Two, which is a long item whose text does not fit on a single line of the terminal\n   - nested\n\n- [x] done\n- [ ] open\n\n' +
        '> A quote\n> of two lines.\n\n| Name | Count |\n|:-----|------:|\n| apples | 3 |\n| *pears* | 1200 |\n\n---\n\nThe end', calls: []}), how: 'cut'},
    'asks': {say: twoTurns([{name: 'asks', args: {}}, add(2, 3)])},
    'logs-in': {say: twoTurns([{name: 'login', args: {user: 'ada', password: 'hunter2'}}])},
    // By names that mean the tool, and one that means none; and with what is a secret in another place.
    'logs-in-oddly': {say: twoTurns([...['functions.login', 'mcp__login__login', 'log_in'].map((name) => ({name, args: {password: 'hunter2'}})),
                                     {name: 'login', args: {input: {password: 'hunter3'}}}, {name: 'login', args: {pasword: 'hunter4'}}])},
    'plans-to-log-in': {say: inTurn(
        {name: 'run_plan', args: {plan: {nodes: [{id: 'a', tool: 'login', arguments: {password: {$ref: '#/inputs/k'}}}],
                                         inputs: {k: {type: 'string', format: 'password'}}}, inputs: {k: 'hunter2'}}},
        {name: 'run_plan', args: {plan: JSON.stringify({nodes: [{id: 'a', tool: 'login', arguments: {password: 'hunter3'}}]})}},
        {name: 'functions.run_plan', args: {plan: {nodes: [{id: 'a', tool: 'functions.login', arguments: {password: 'hunter4'}}]}}})},
    'groups': {say: twoTurns([add(2, 3), {name: 'fails', args: {}}, {name: 'slow', args: {}}], 'Both at **once**.\n')},
    'calls-many': {say: (results) => (results.length === 0 ? {text: '', calls: Array(73).fill(add(2, 3))} : {text: `${results.length}`, calls: []})},
    'floods': {say: () => ({text: '', calls: Array(1025).fill(add(2, 3))})},
    'bad-arguments': {say: twoTurns([{name: 'add', args: '{"a": 2, "b": '}])},
    'encodes': {say: twoTurns([{name: 'echo', args: {o: '{"s":"x"}'}}])},
    'wrong-tool': {say: twoTurns([{name: 'subtract', args: {a: 2, b: 3}}])},
    'erases': {say: twoTurns([{name: 'erase', args: {}}, {name: 'erase', args: {}}])},
    'plans': {say: inTurn(plan(planned))},
    'plans-wrongly': {say: inTurn(plan([{id: 'a', tool: 'subtract'}, {id: 'b', tool: 'add', depends_on: ['z']}]),
                                  plan(planned, {result: {$ref: '#/nodes/b/result'}}))},
    'plans-a-text': {say: inTurn(plan(planned, {result: 'got {{a.result}}'}))},
    'plans-nothing': {say: inTurn({name: 'run_plan', args: '{"plan": {"nodes": ['}, {name: 'run_plan', args: {nodes: []}},
                                  add(2, 3))},
    'plans-asking': {say: inTurn(plan([{id: 'q', tool: 'asks'}]))},
    'plans-erasing': {say: inTurn(plan([planned[0], {id: 'e', tool: 'erase', depends_on: ['a']}, {id: 'f', tool: 'erase'}]))},
    'plans-failing': {say: inTurn(plan([planned[0], {...planned[1], for_each: {items: [1, 2], max_items: 1}}]))},
    'plans-slowly': {say: inTurn(plan([{id: 's', tool: 'slow', on_error: 'skip'}, {id: 't', tool: 'slow', depends_on: ['s']}]))},
    'reads-on': {say: inTurn(book, read({id: 1, offset: 256}), read({id: 1, offset: 257, length: 3}), read({id: 1, find: 'needle'}, 'functions.read_result'))},
    'reads-other-name': {say: inTurn(book, read({id: 1, offset: 256}, 'read_long_result'))},
    'reads-wrongly': {say: inTurn(book, read({id: 2}), read({id: 1, offset: 9300000000000000000}), read('{"id": 1, "offset": 99999999999999999999999}'),
                                  read({id: 1, offset: -1}), read({id: '../../secret'}), read({id: 1, path: '/etc/passwd'}),
                                  read('{"id": 1, "id": 2}'), read('{"id": 1.0, "offset": 2.5e2, "length": 3.0}'), read({offset: 5}))},
    'reads-old': {say: inTurn(read({id: 1}))},
    'reads-a-plan': {say: inTurn(plan([{id: 'a', tool: 'book'}], {result: {$ref: '#/nodes/a/result'}}), read({id: 1, find: 'needle'}))},
    'slow-tool': {say: twoTurns([{name: 'slow', args: {}}, {name: 'slow', args: {}}])},
    'hangs': {say: () => ({text: 'Let me think', calls: []}), how: 'hang'},
    'silent': {how: 'silence'},
    // Failures come first, the two turns after them.
    'busy': {say: twoTurns([add(2, 3)]), fails: [[429, {'retry-after': '1'}]]},
    'busy-until': {say: twoTurns([add(2, 3)]), fails: [[429, {'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT'}]]},
    'busy-ms': {say: twoTurns([add(2, 3)]), fails: [[429, {'retry-after-ms': '20', 'retry-after': '60'}], [408, {'retry-after-ms': '1.5'}],
                                                   [504, {'retry-after': '0'}]]},
    'busy-info': {say: twoTurns([add(2, 3)]), fails: [[429, {}, {details: [{'@type': 'type.googleapis.com/google.rpc.QuotaFailure'},
                                                                          {'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.030s'}]}]]},
    'busy-long': {say: twoTurns([add(2, 3)]), fails: [[429, {'retry-after': '600'}]]},
    'used-up': {fails: Array(20).fill([429, {}, {code: 'insufficient_quota', type: 'insufficient_quota'}])},
    'hopeless': {fails: Array(20).fill([503, {'x-should-retry': 'false'}])},
    'hopeful': {say: twoTurns([add(2, 3)]), fails: [[409, {'x-should-retry': 'true', 'retry-after': '0'}]]},
    'resets': {say: twoTurns([add(2, 3)]), fails: ['reset', 'reset']},
    'stumbles': {say: twoTurns([add(2, 3)]), fails: [[500, {}], [529, {}]]},
    'down': {fails: Array(20).fill([503, {'retry-after': '0'}])},
    'overloaded': {say: twoTurns([add(2, 3)]), fails: [{stream: sse({type: 'message_start', message: {content: []}}, 'message_start') + overloaded}]},
    'overloaded-later': {fails: Array(20).fill({stream: sse({choices: [{index: 0, delta: {content: 'Let me'}}]}) + overloaded})},
    'compresses': {say: twoTurns([add(2, 3)]), how: 'gzip'},
    'compresses-oddly': {say: twoTurns([add(2, 3)]), how: 'odd'},
    'thinks': {say: twoTurns([add(2, 3)]), thinks: true},
    'knows-less': {say: twoTurns([add(2, 3)]), refuses: ['cache_control', 'store', 'include']},
    'takes-no-reasoning': {say: (results) => ({...(results.length < 2 ? {text: '', calls: [add(2, 3)]} : twoTurns([])(results)), reasons: true}),
                           refuses: ['reasoning']},
    'knows-no-limit': {say: twoTurns([add(2, 3)]), refuses: ['max_tokens']},
    'takes-nothing-strict': {say: twoTurns([add(2, 3)]), refuses: ['strict']},
    'refuses': {fails: Array(20).fill([401, {}])},
    'moved': {fails: Array(20).fill([307, {location: '/elsewhere'}])},
};

const requests = [];
const failed = new Map(); // how often a model has failed

const keyOf = (request) => request.headers.authorization ?? request.headers['x-api-key'] ?? request.headers['x-goog-api-key'] ?? '';

function fail(response, request, model, [status, headers, error]) {
    // A careless provider repeats the key that it was given.
    const key = keyOf(request);
    failed.set(model, (failed.get(model) ?? 0) + 1);
    response.writeHead(status, {'content-type': 'application/json', ...headers});
    response.end(JSON.stringify({error: {type: 'error', code: status, message: `no answer for "${key}" today`, ...error}}));
}

// Each piece a write of its own, in a turn of its own of the event loop.
function sendPieces(response, pieces, end) {
    const next = (at) => {
        if (at === pieces.length) {
            end();
        } else if (!response.destroyed) {
            response.write(pieces[at], () => setImmediate(next, at + 1));
        }
    };
    next(0);
}

// Pieces of one to seven bytes: cut within characters, lines and escapes.
function cut(text) {
    const bytes = Buffer.from(text);
    const pieces = [];
    for (let at = 0, length = 1; at < bytes.length; at += length, length = length % 7 + 1) {
        pieces.push(bytes.subarray(at, at + length));
    }
    return pieces;
}

function sendStream(response, format, pieces, how) {
    const encoding = {gzip: 'gzip', odd: 'odd'}[how];
    response.writeHead(200, {'content-type': format === ollama ? 'application/x-ndjson' : 'text/event-stream',
                             ...(encoding ? {'content-encoding': encoding} : {})});
    if (how === 'gzip') {
        response.end(zlib.gzipSync(pieces.join('')));
        return;
    }
    const most = how === 'break' || how === 'no end' ? pieces.slice(0, Math.ceil(pieces.length / 2))
        : how === 'hang' ? pieces.slice(0, 3)
        : how === 'cut' ? cut(pieces.join(''))
        : how === 'garbage' ? ['<html>Bad gateway</html>\n\n'] : pieces;
    sendPieces(response, most, () => {
        if (how === 'break' || how === 'late break') {
            response.destroy();
        } else if (how !== 'hang') {
            response.end();
        }
    });
}

function play(request, response, body, format, match) {
    const model = format.model ? format.model(match) : body.model;
    const part = parts[model];
    if (part === undefined) {
        response.writeHead(404, {'content-type': 'application/json'});
        response.end(JSON.stringify({error: {message: `there is no model ${model}`}}));
        return;
    }
    const failure = (part.fails ?? [])[failed.get(model) ?? 0];
    // An error within a stream that has begun.
    if (failure?.stream !== undefined) {
        failed.set(model, (failed.get(model) ?? 0) + 1);
        response.writeHead(200, {'content-type': 'text/event-stream'});
        response.end(failure.stream);
        return;
    }
    if (failure === 'reset') {
        failed.set(model, (failed.get(model) ?? 0) + 1);
        request.socket.resetAndDestroy();
        return;
    }
    if (failure !== undefined) {
        fail(response, request, model, failure);
        return;
    }
    // A server that does not know a member of the request, wherever it is.
    const unknown = (part.refuses ?? []).find((name) => JSON.stringify(body).includes(`"${name}":`));
    if (unknown !== undefined) {
        fail(response, request, model, [400, {}, {message: `Unknown parameter: '${unknown}'.`}]);
        return;
    }
    if (part.how === 'silence') {
        return;
    }
    if (part.event !== undefined) {
        response.writeHead(200, {'content-type': 'text/event-stream'});
        response.end(part.event(keyOf(request).replace(/^Bearer /, '')));
        return;
    }
    const results = format.results(body);
    const answer = {...part.say(results, keyOf(request).replace(/^Bearer /, ''),
                                         {tasks: format.tasks(body), hasResults: format.hasResults(body)}), turn: results.length, thinks: part.thinks};
    if (format.streams(body, match)) {
        sendStream(response, format, format.stream(answer, body), part.how);
    } else {
        response.writeHead(200, {'content-type': 'application/json'});
        response.end(JSON.stringify(format.whole(answer, body)));
    }
}

const server = http.createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
        const path = new URL(request.url, 'http://localhost').pathname;
        if (request.method === 'DELETE' && path === '/requests') {
            requests.length = 0;
            failed.clear();
            response.writeHead(204);
            response.end();
            return;
        }
        if (request.method === 'GET' && path === '/requests') {
            response.writeHead(200, {'content-type': 'application/json'});
            response.end(JSON.stringify(requests));
            return;
        }
        const entry = {path: request.url, headers: request.headers, body: null, text: '', aborted: false};
        requests.push(entry);
        response.on('close', () => {
            entry.aborted = !response.writableFinished;
        });
        const format = formats.find((candidate) => candidate.path.test(path));
        try {
            entry.text = Buffer.concat(pieces).toString();
            entry.body = JSON.parse(entry.text);
            play(request, response, entry.body, format, format.path.exec(path));
        } catch (error) {
            response.writeHead(400, {'content-type': 'application/json'});
            response.end(JSON.stringify({error: {message: `${request.method} ${path}: ${error.message}`}}));
        }
    });
});

server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${server.address().port}\n`);
});
// Whoever started it holds the other end of a pipe: it does not outlive them.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
