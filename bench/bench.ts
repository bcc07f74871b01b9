// npm run bench -- NAME [--json]
import { attachBench } from './attach/attach-bench.js'
import { eventsBench } from './events/events-bench.js'
import { explainBench } from './explain/explain-bench.js'
import type { BenchResult } from './figure.js'
import { idleBench } from './idle/idle-bench.js'
import { manyBench } from './many/many-bench.js'
import { printJson, printTables } from './print-result.js'
import { stepBench } from './step/step-bench.js'
import { stopBench } from './stop/stop-bench.js'
import { wakeBench } from './wake/wake-bench.js'

interface Bench {
  run(): Promise<BenchResult & { readonly machine: readonly string[] }>
}

const BENCHES: Readonly<Record<string, Bench>> = {
  attach: { run: attachBench },
  events: { run: eventsBench },
  explain: { run: explainBench },
  idle: { run: idleBench },
  many: { run: manyBench },
  step: { run: stepBench },
  stop: { run: stopBench },
  wake: { run: wakeBench },
}

const names = Object.keys(BENCHES).join(', ')
const given = process.argv.slice(2)
const json = given.includes('--json')
const [name, ...rest] = given.filter((argument) => argument !== '--json')
const bench = name !== undefined && Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined

if (bench === undefined || rest.length > 0) {
  console.error(`Expected one bench (${names}) and perhaps --json, got "${given.join(' ')}".`)
  process.exitCode = 2
} else {
  const result = await bench.run()
  if (json) printJson(result)
  else printTables(result, result.machine)
}
