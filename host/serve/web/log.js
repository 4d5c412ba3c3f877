// log.js - the calls as they happen, and those before.
import {ask, follow, part, withQuery} from './api.js';
import {action, block, duration, empty, fill, h, moment, note, pill, prettyText} from './dom.js';

const keptMax = 500;
const page = 100;

function details(call) {
    const line = (term, value) => value !== null && value !== undefined && value !== '' && [h('dt', {}, term), h('dd', {}, value)];
    return h('div', {class: 'details'},
        h('dl', {class: 'pairs'}, line('Call', call.id), line('Caller', call.caller), line('Channel', call.channel), line('Conversation', call.conversation),
            line('Trace', call.trace), line('Plugin', call.plugin), line('Processor time', call.cpu_ns && duration(call.cpu_ns))),
        call.error && h('p', {class: 'message'}, call.error.message),
        call.error?.trace?.length > 0 && block(call.error.trace.join('\n'), 'Backtrace'),
        h('h2', {}, 'Arguments'), block(call.arguments === null ? 'not kept' : prettyText(call.arguments), `Arguments of call ${call.id}`),
        call.ok && [h('h2', {}, 'Result'), block(call.result === null ? 'not kept' : prettyText(call.result), `Result of call ${call.id}`)]);
}

function callRow(call, {short, fresh}) {
    const row = h('details', {class: `call${call.ok ? '' : ' failed'}${fresh ? ' fresh' : ''}`},
        h('summary', {}, moment(call.time_ms), !short && h('span', {class: 'name'}, call.tool, ' ', h('span', {class: 'version'}, call.version)),
            pill(call.ok ? 'ok' : call.error?.type ?? 'failed', call.ok ? 'good' : call.error?.type === 'ConfirmationRequired' ? 'warn' : 'bad'), h('span', {class: 'took'}, duration(call.duration_ns)),
            h('span', {class: 'gist'}, call.ok ? call.arguments ?? '' : call.error?.message ?? '')));
    row.addEventListener('toggle', () => row.open && row.children.length === 1 && row.append(details(call)));
    return row;
}

export const callRows = (calls, options = {}) => h('div', {class: `calls${options.short ? ' short' : ''}`}, calls.map((call) => callRow(call, options)));

export function showLog(root) {
    const list = h('div', {class: 'calls', role: 'log', 'aria-label': 'Calls, the newest first', 'aria-live': 'off'});
    const none = empty('No call fits.');
    none.hidden = true;
    const status = h('p', {class: 'count', role: 'status'});
    const input = (label, placeholder) => h('input', {type: 'search', 'aria-label': label, placeholder, on: {change: begin}});
    const tool = input('Only this tool', 'Tool');
    const caller = input('Only this caller', 'Caller');
    const conversation = input('Only this conversation', 'Conversation');
    const outcome = h('select', {'aria-label': 'How calls ended', on: {change: begin}},
        [['', 'All'], ['errors', 'Failed'], ['ok', 'ok'], ...['ExecutionFailed', 'InvalidArguments', 'Timeout', 'Cancelled', 'PermissionDenied', 'ConfirmationRequired', 'LimitExceeded', 'Disabled'].map((one) => [one, one])]
            .map(([value, label]) => h('option', {value}, label)));
    const older = action('Older calls', loadOlder, {kind: 'quiet'});
    let stream;
    let oldest;
    let begun = 0;
    fill(root, h('div', {class: 'head'}, h('h1', {}, 'Log'), status, h('div', {class: 'filters'}, tool, caller, conversation, outcome)), none, list, h('div', {class: 'row'}, older));

    const filter = () => ({tool: tool.value.trim(), caller: caller.value.trim(), conversation: conversation.value.trim(),
        errors: outcome.value === 'errors' ? 'true' : '', outcomes: outcome.value === 'errors' ? '' : outcome.value});

    async function load(before) {
        const {calls} = await ask('GET', withQuery('/api/log', {...filter(), limit: page, before}));
        oldest = calls[0]?.id ?? oldest;
        older.hidden = calls.length < page;
        return calls;
    }

    async function loadOlder() {
        list.append(...(await load(oldest)).reverse().map((call) => callRow(call, {})));
    }

    function take(call) {
        list.prepend(callRow(call, {fresh: true}));
        none.hidden = true;
        if (list.children.length > keptMax) {
            list.lastElementChild.remove();
            older.hidden = true;
        }
    }

    /** The page of now, and from its last call on what follows. */
    async function begin() {
        const number = ++begun;
        stream?.stop();
        try {
            const calls = await load();
            if (number !== begun) {
                return;
            }
            fill(list, calls.slice().reverse().map((call) => callRow(call, {})));
            none.hidden = calls.length > 0;
            const after = calls.at(-1)?.id;
            stream = follow(withQuery('/api/log', {...filter(), after}), {told: take,
                state: (state) => { status.textContent = state === 'open' ? 'following' : state === 'lost' ? 'not following' : ''; }});
        } catch (error) {
            fill(list);
            none.hidden = false;
            note(error.message, 'bad');
        }
    }

    begin();
    return {leave: () => { begun++; stream?.stop(); }};
}
