// npm run bench -- NAME [--json]
import { eventsBench } from './events/events-bench.js'
import { explainBench } from './explain/explain-bench.js'
import type { BenchResult } from './figure.js'
import { printJson, printTables } from './print-result.js'
import { stepBench } from './step/step-bench.js'

interface Bench {
  run(): Promise<BenchResult & { readonly machine: readonly string[] }>
}

const BENCHES: Readonly<Record<string, Bench>> = {
  events: { run: eventsBench },
  explain: { run: explainBench },
  step: { run: stepBench },
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
