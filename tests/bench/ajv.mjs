// Times ajv's compiled validator: node ajv.mjs <node_modules> <schema> <instance>
// Prints the median in ns. Written for ajv 8.20.0; another 8 will do, and is named on stderr.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modules, schemaText, instanceText] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'x.js'));
const { version } = JSON.parse(readFileSync(resolve(modules, 'ajv/package.json'), 'utf8'));
if (version !== '8.20.0') {
  console.error(`ajv ${version}; the figures on record are from 8.20.0`);
}
const Ajv2020 = require(resolve(modules, 'ajv/dist/2020.js')).default;
const validate = new Ajv2020().compile(JSON.parse(schemaText));
const instance = JSON.parse(instanceText);

const CALLS = 1_000_000;
const rounds = [];
let valid = 0;
for (let round = 0; round < 16; round++) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < CALLS; i++) {
    valid += validate(instance) ? 1 : 0;
  }
  if (round > 0) { // the first warms the compiler up
    rounds.push(Number(process.hrtime.bigint() - start) / CALLS);
  }
}
if (valid !== 16 * CALLS) {
  throw new Error('the instance was refused');
}
rounds.sort((a, b) => a - b);
console.log(rounds[rounds.length >> 1].toFixed(1));
