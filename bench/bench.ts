// npm run bench -- NAME [--server dev|postgres] [--json]
import { parseArgs } from 'node:util'

import { attachBench } from './attach/attach-bench.js'
import { SERVERS, withServers } from './bench-servers.js'
import type { BenchServers, ServerKind } from './bench-servers.js'
import { costBench } from './cost/cost-bench.js'
import { eventsBench } from './events/events-bench.js'
import { explainBench } from './explain/explain-bench.js'
import type { BenchResult } from './figure.js'
import { idleBench } from './idle/idle-bench.js'
import { manyBench } from './many/many-bench.js'
import { longThreadBench } from './long-thread/long-thread-bench.js'
import { longTurnBench } from './long-turn/long-turn-bench.js'
import { peersBench } from './peers/peers-bench.js'
import { policyBench } from './policy/policy-bench.js'
import { printJson, printTables } from './print-result.js'
import { replayBench } from './replay/replay-bench.js'
import { slowModelsBench } from './slow-models/slow-models-bench.js'
import { startBench } from './start/start-bench.js'
import { stepBench } from './step/step-bench.js'
import { stopBench } from './stop/stop-bench.js'
import { storedBench } from './stored/stored-bench.js'
import { streamsBench } from './streams/streams-bench.js'
import { wakeBench } from './wake/wake-bench.js'

type MachineResult = BenchResult & { readonly machine: readonly string[] }

/** Run on the dev server or on a Temporal server on PostgreSQL. */
const ON_SERVERS: Readonly<Record<string, (servers: BenchServers) => Promise<MachineResult>>> = {
  attach: attachBench,
  cost: costBench,
  idle: idleBench,
  many: manyBench,
  'long-thread': longThreadBench,
  'long-turn': longTurnBench,
  peers: peersBench,
  policy: policyBench,
  replay: replayBench,
  'slow-models': slowModelsBench,
  start: startBench,
  step: stepBench,
  stop: stopBench,
  stored: storedBench,
  streams: streamsBench,
  wake: wakeBench,
}
/** These bring what they need. */
const ON_THEIR_OWN: Readonly<Record<string, () => Promise<MachineResult>>> = {
  events: eventsBench,
  explain: explainBench,
}

interface Asked {
  readonly run: () => Promise<MachineResult>
  readonly server?: ServerKind
  readonly json: boolean
}

/** What the command line asks for, or what is wrong with it. */
function readCommandLine(): Asked | string {
  const { values, positionals } = parseArgs({
    options: { server: { type: 'string' }, json: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [name = '', ...rest] = positionals
  const { json } = values
  const server = SERVERS.find((one) => one === (values.server ?? 'dev'))
  if (server === undefined) return `--server to be ${SERVERS.join(' or ')}, got "${values.server}".`
  const onServers = Object.hasOwn(ON_SERVERS, name) ? ON_SERVERS[name] : undefined
  const alone = Object.hasOwn(ON_THEIR_OWN, name) ? ON_THEIR_OWN[name] : undefined
  if (rest.length > 0 || (onServers ?? alone) === undefined) {
    const names = [ON_SERVERS, ON_THEIR_OWN].flatMap((benches) => Object.keys(benches)).join(', ')
    return `one bench (${names}), got "${positionals.join(' ')}".`
  }
  if (onServers !== undefined) return { run: () => withServers(server, onServers), server, json }
  if (values.server !== undefined) return `no --server, for ${name} brings its own.`
  return { run: alone ?? explainBench, json }
}

/** The sentences of `parseArgs` are made for people too. */
function tryToRead(): Asked | string {
  try {
    return readCommandLine()
  } catch (error) {
    return `--server and --json alone: ${error instanceof Error ? error.message : String(error)}`
  }
}

const asked = tryToRead()
if (typeof asked === 'string') {
  console.error(`Expected ${asked}`)
  process.exitCode = 2
} else {
  const result = await asked.run()
  if (asked.json) printJson(result, asked.server)
  else printTables(result, result.machine)
}
