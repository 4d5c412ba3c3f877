// chart.js - calls over time: how many, how many failed, and how long they took. Plain SVG.
import {dayOf, duration, h, plural, svg, withDay} from './dom.js';

const buckets = 48;
const wide = 640;
const narrow = 340; // on a phone, where letters would be too small else
const height = 150;
const left = 52;
const bottom = 20;
let width = wide;

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];

/** Calls in intervals of equal length: of each its begin, its counts and its percentiles. */
export function intervals(calls, since_ms, until_ms) {
    const step = Math.max(1, (until_ms - since_ms) / buckets);
    const all = Array.from({length: buckets}, (_, i) => ({begin_ms: since_ms + i * step, calls: 0, errors: 0, times: []}));
    for (const call of calls) {
        const one = all[Math.min(buckets - 1, Math.floor((call.time_ms - since_ms) / step))];
        if (one) {
            one.calls++;
            one.errors += call.ok ? 0 : 1;
            one.times.push(call.duration_ns);
        }
    }
    for (const one of all) {
        one.times.sort((a, b) => a - b);
        [one.p50, one.p95, one.p99] = [0.5, 0.95, 0.99].map((share) => percentile(one.times, share));
    }
    return all;
}

/** The least round number that is not less. */
function roundUp(value) {
    const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
    return [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= value);
}

const xOf = (index) => left + index * (width - left) / buckets;
const yOf = (value, most) => (height - bottom) * (1 - value / most) + 6;

function frame(most, format, all, description) {
    const length_ms = all.at(-1).begin_ms - all[0].begin_ms;
    const time = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: length_ms < 600_000 ? '2-digit' : undefined, hourCycle: 'h23'});
    const label = (at) => length_ms > 86_400_000 ? dayOf(at) : withDay(at, time.format(at));
    return svg('svg', {viewBox: `0 0 ${width} ${height + 8}`, class: 'chart', role: 'img', 'aria-label': description},
        [0, most / 2, most].map((value) => [
            svg('line', {x1: left, x2: width, y1: yOf(value, most), y2: yOf(value, most), class: 'grid'}),
            svg('text', {x: left - 6, y: yOf(value, most) + 4, class: 'axis', 'text-anchor': 'end'}, format(value))]),
        [0, buckets / 2, buckets - 1].map((index) => svg('text', {x: xOf(index), y: height + 4, class: 'axis',
            'text-anchor': index === 0 ? 'start' : index === buckets - 1 ? 'end' : 'middle'}, label(new Date(all[index].begin_ms)))));
}

function countChart(all) {
    const calls = all.reduce((sum, one) => sum + one.calls, 0);
    const errors = all.reduce((sum, one) => sum + one.errors, 0);
    const most = roundUp(Math.max(...all.map((one) => one.calls), 2));
    const chart = frame(most, (value) => Number.isInteger(value) ? String(value) : '', all, `${plural(calls, 'call')}, of which ${errors} failed`);
    const bar = (one, i, value, kind) => value > 0 && svg('rect', {x: xOf(i) + 1, width: (width - left) / buckets - 2, rx: 1.5,
        y: yOf(value, most), height: yOf(0, most) - yOf(value, most), class: kind},
    svg('title', {}, `${new Date(one.begin_ms).toLocaleString()}: ${plural(one.calls, 'call')}, ${one.errors} failed`));
    all.forEach((one, i) => [bar(one, i, one.calls, 'total'), bar(one, i, one.errors, 'errors')].forEach((element) => element && chart.append(element)));
    return chart;
}

function timeChart(all) {
    const full = all.map((one, i) => [one, i]).filter(([one]) => one.calls > 0);
    const most = roundUp(Math.max(...full.map(([one]) => one.p99), 1));
    const last = full.at(-1)?.[0];
    const chart = frame(most, (value) => value === 0 ? '0' : duration(value), all,
        last ? `Durations; at last p50 ${duration(last.p50)}, p95 ${duration(last.p95)}, p99 ${duration(last.p99)}` : 'Durations; no calls');
    const middle = (i) => xOf(i) + (width - left) / buckets / 2;
    for (const kind of ['p99', 'p95', 'p50']) {
        chart.append(svg('polyline', {class: `line ${kind}`, points: full.map(([one, i]) => `${middle(i)},${yOf(one[kind], most)}`).join(' ')}));
        for (const [one, i] of full) {
            chart.append(svg('circle', {class: `dot ${kind}`, cx: middle(i), cy: yOf(one[kind], most), r: 2.5},
                svg('title', {}, `${new Date(one.begin_ms).toLocaleString()}: ${kind} ${duration(one[kind])}`)));
        }
    }
    return chart;
}

const legend = (...entries) => h('ul', {class: 'legend'}, entries.map(([kind, label]) => h('li', {class: kind}, label)));

/** Both charts of calls, from the newest of them back to `since_ms`, or to the oldest. */
export function charts(calls, since_ms, until_ms = Date.now()) {
    width = matchMedia('(max-width: 760px)').matches ? narrow : wide;
    const first = since_ms ?? Math.min(until_ms - 60_000, ...calls.map((call) => call.time_ms));
    const all = intervals(calls.filter((call) => call.time_ms >= first), first, until_ms);
    return h('div', {class: 'charts'},
        h('figure', {}, h('figcaption', {}, 'Calls', legend(['total', 'all'], ['errors', 'failed'])), countChart(all)),
        h('figure', {}, h('figcaption', {}, 'Duration', legend(['p50', 'p50'], ['p95', 'p95'], ['p99', 'p99'])), timeChart(all)));
}
